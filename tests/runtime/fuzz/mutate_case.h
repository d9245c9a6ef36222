// A small model with values for its inputs, and random edits of both that keep most cases runnable.
//
//   (float[4,7] a, float[7,5] b) => (float[] y) { y = MatMul (a, b) }
//     all floats are bfloat16 · every 7 is 16 · b is a constant that may be given · Relu behind y · a changed attribute
#ifndef AMP_TESTS_RUNTIME_FUZZ_MUTATE_CASE_H_
#define AMP_TESTS_RUNTIME_FUZZ_MUTATE_CASE_H_

#include <random>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "onnx/onnx_pb.h"
#include "runtime/values/npy.h"

namespace amp {

struct KernelCase {
  onnx::ModelProto model;       // the inputs are of any shape
  NamedTensors values;          // of inputs that are tensors
  bool has_non_finite = false;  // among values, constants and attributes
};

// A line of kernels.txt. Errors: those of the text.
absl::StatusOr<KernelCase> ParseKernelCase(absl::string_view graph);

// Returns what was edited, for a person; empty where there was nothing to edit. Deterministic by the state of `random`.
std::string MutateCase(KernelCase& each, std::mt19937_64& random);

// Every float of the values, and of the constants made of them, up or down by about two units in its last place.
KernelCase Nudge(KernelCase each, std::mt19937_64& random);

}  // namespace amp

#endif  // AMP_TESTS_RUNTIME_FUZZ_MUTATE_CASE_H_
