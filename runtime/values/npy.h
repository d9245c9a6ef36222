// Tensors as NumPy's .npy files, and archives of them, .npz.
//
//   absl::StatusOr<Tensor> x = ParseNpy(bytes);        float32[2,3] of '<f4', (2, 3)
//   absl::StatusOr<NamedTensors> all = ReadNpz("inputs.npz");
//
// Files come from anywhere: sizes and types are judged before anything is allocated. Source of the format:
// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
#ifndef AMP_RUNTIME_VALUES_NPY_H_
#define AMP_RUNTIME_VALUES_NPY_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "runtime/kernel/tensor.h"

namespace amp {

// Parses little-endian numbers, truth values and complex numbers, in rows or in columns. Two bytes of no type ('<V2')
// are bfloat16, as ml_dtypes writes it. Strings of Unicode ('<U5') lose the zeros at their ends. Errors:
// kInvalidArgument for anything else, kResourceExhausted.
absl::StatusOr<Tensor> ParseNpy(absl::string_view bytes);

// Writes bfloat16 and smaller floats as float32, integers below 8 bits as 8 bits, strings as Unicode ('<U5').
// Errors: kInvalidArgument for strings that are no UTF-8.
absl::StatusOr<std::string> NpyBytes(const Tensor& tensor);

// Whether the path is a pipe or a device: what comes from there can be read once, and in order alone.
bool IsPipe(const std::string& path);

using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

// Reads all arrays in the archive's order, with ".npy" taken off the names. A pipe is read into memory first. Errors:
// kUnavailable (no such file), kInvalidArgument (no archive; an array that ParseNpy refuses, with its name),
// kResourceExhausted.
absl::StatusOr<NamedTensors> ReadNpz(const std::string& path);

// Says by its position whether an array is wanted. It is given the names of all arrays before any is unpacked, so that
// an archive with arrays that nobody asked for costs nothing.
using ChooseArrays = absl::FunctionRef<absl::StatusOr<std::vector<bool>>(const std::vector<std::string>& names)>;
// Reads the arrays that are wanted. Errors: those of `choose`, too.
absl::StatusOr<NamedTensors> ReadNpz(const std::string& path, ChooseArrays choose);

// kStore: as they are; weights hardly get smaller, and take long.
enum class NpzForm { kCompress, kStore };
// An archive as bytes. Errors: those of NpyBytes.
absl::StatusOr<std::string> NpzBytes(const NamedTensors& tensors, NpzForm form = NpzForm::kCompress);

}  // namespace amp

#endif  // AMP_RUNTIME_VALUES_NPY_H_
