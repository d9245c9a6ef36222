// Models written as ONNX's text, run with fusions and without: which kernels ran, or how the outputs differ.
//
//   Fused({.graph = "(T[n,8] x) => (T[] y) { h = MatMul (x, w) y = Relu (h) }",
//          .tensors = {{"x", {5, 8}}, {"w", {8, 6}}}}) == "MatMul"
#ifndef AMP_TESTS_RUNTIME_FUSED_CASE_H_
#define AMP_TESTS_RUNTIME_FUSED_CASE_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "runtime/kernel/parallel_for.h"
#include "tests/runtime/run_session.h"

namespace amp {

struct FuseCase {
  std::string graph;  // of type T: "(T[n,4] x) => (T[] y) { ... }"; tensors named x, r, s are inputs, others constants
  std::vector<std::pair<std::string, Dims>> tensors;
  double tolerance = 1e-5;
  int opset = 22;
};

inline std::string FuseTypeName(DType dtype) {
  return dtype == DType::kFloat32 ? "float" : std::string(DTypeName(dtype));
}

inline bool IsFuseInput(const std::string& name) { return name == "x" || name == "r" || name == "s"; }

inline SessionText TextOf(const FuseCase& each, DType dtype) {
  SessionText text = {
      .text = absl::StrCat("<ir_version: 10, opset_import: [\"\" : ", each.opset, ", \"com.microsoft\" : 1]> g ",
                           absl::StrReplaceAll(each.graph, {{"T[", FuseTypeName(dtype) + "["}})),
      .constants = {}};
  for (const auto& [name, dims] : each.tensors) {
    if (!IsFuseInput(name)) text.constants.emplace_back(name, RandomTensor(dtype, dims, Values::kPlain, 1));
  }
  return text;
}

inline NamedDatums InputsOf(const FuseCase& each, DType dtype) {
  NamedDatums inputs;
  for (const auto& [name, dims] : each.tensors) {
    if (IsFuseInput(name)) inputs[name] = RandomTensor(dtype, dims, Values::kPlain, 1);
  }
  return inputs;
}

// "onednn Conv" -> "Conv"
inline std::string OperatorsOf(const Session& session) {
  std::vector<std::string> operators;
  for (const std::string& kernel : KernelsOf(session)) {
    operators.push_back(std::vector<std::string>(absl::StrSplit(kernel, ' '))[1]);
  }
  return absl::StrJoin(operators, " ");
}

// Whether three threads that share out the smallest work, too, give other bits than one.
inline std::string ThreadsDiffer(const SessionText& text, SessionOptions options, const NamedDatums& inputs) {
  options.threads = 1;
  const std::vector<Tensor> alone = RunSession(*MakeSession(text, options), inputs);
  options.threads = 3;
  ShareSmallWork(true);
  const std::vector<Tensor> together = RunSession(*MakeSession(text, options), inputs);
  ShareSmallWork(false);
  for (size_t i = 0; i < alone.size(); ++i) {
    if (alone[i].bytes() != together[i].bytes()) return absl::StrCat("output ", i, ": other bits by three threads");
  }
  return "";
}

// The operators that ran with these fusions on; or how their outputs differ from those without, or from run to run.
inline std::string FusedWith(const SessionOptions& options, const FuseCase& each, DType dtype, double tolerance) {
  const SessionText text = TextOf(each, dtype);
  const NamedDatums inputs = InputsOf(each, dtype);
  const auto fused = MakeSession(text, options), plain = MakeSession(text, OneByOne());
  const std::vector<Tensor> expected = RunSession(*plain, inputs);
  for (int run = 0; run < 3; ++run) {
    std::string difference = DifferenceOf(RunSession(*fused, inputs), expected, tolerance);
    if (!difference.empty()) return difference;
  }
  return OperatorsOf(*fused);
}

}  // namespace amp

#endif  // AMP_TESTS_RUNTIME_FUSED_CASE_H_
