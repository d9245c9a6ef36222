// Runs a node with vectorised loops and with the reference kernels, on random inputs, and compares what comes out.
//
//   RunBoth({.node = "y = Add(a, b)", .inputs = {RandomTensor(DType::kFloat16, {2, 3}), ...}}) == ""
//
// The reference has row-major inputs. Every set of loops that the processor can run is tried. Differences come back as
// text. So does a node for which no loops were chosen, or one that gives other bits where several threads share it out.
// Inputs are called a, b, c, ..., and outputs y, z, w.
#ifndef AMP_TESTS_RUNTIME_LOOPS_RUN_BOTH_H_
#define AMP_TESTS_RUNTIME_LOOPS_RUN_BOTH_H_

#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ir/base/status.h"
#include "ir/file/model_file.h"
#include "ir/file/text.h"
#include "runtime/kernel/doubles.h"
#include "runtime/kernel/kernel.h"
#include "runtime/kernel/layout.h"
#include "runtime/kernel/parallel_for.h"
#include "runtime/kernel/shape_math.h"
#include "runtime/loops/best_loops.h"
#include "runtime/plan/program.h"
#include "runtime/reference/reference_kernels.h"
#include "runtime/session.h"

namespace amp {

inline constexpr DType kLoopFloats[] = {DType::kFloat32, DType::kFloat16, DType::kBfloat16};

struct BothCase {
  std::string node;
  std::vector<Tensor> inputs;
  int opset = 21;
  std::vector<DType> outputs = {};           // empty: one of the first input's type
  double relative = 3e-6, absolute = 1e-30;  // beside the last place of a 16-bit type
  std::string family = "loops";
};

enum class Values { kPlain, kWithSpecial, kPositive };

inline Tensor RandomTensor(DType dtype, const Dims& dims, Values values = Values::kPlain, double scale = 3) {
  static std::mt19937 random(7);
  std::normal_distribution<double> normal(0, scale);
  Tensor tensor = *Tensor::Create(dtype, dims);
  constexpr double kSpecial[] = {0.0,   -0.0,   1.0,  -1.0, INFINITY, -INFINITY, NAN,
                                 1e-40, -1e-40, 6e-8, 88.8, -104.5,   3e38,      65504};
  std::vector<double> numbers(static_cast<size_t>(tensor.num_elements()));
  for (double& x : numbers) {
    x = normal(random);
    if (values == Values::kWithSpecial && random() % 4 == 0) x = kSpecial[random() % std::size(kSpecial)];
    if (values == Values::kPositive) x = std::fabs(x) + 0.01;
  }
  AMP_CHECK(dtype == DType::kBool || WriteDoubles(numbers, tensor).ok());
  if (dtype == DType::kBool) {
    for (bool& x : tensor.mutable_elements<bool>()) x = random() % 2 == 0;
  }
  return tensor;
}

inline Tensor InChannelsLast(const Tensor& tensor) { return *InLayout(tensor, Layout::kChannelsLast, nullptr); }

inline std::string TextType(DType type, const std::string& dims) {
  const std::string name = type == DType::kFloat32   ? "float"
                           : type == DType::kFloat64 ? "double"
                                                     : std::string(DTypeName(type));
  return absl::StrCat(name, dims);
}

inline std::string ModelText(const BothCase& each) {
  std::string inputs, outputs;
  for (size_t i = 0; i < each.inputs.size(); ++i) {
    absl::StrAppend(&inputs, i == 0 ? "" : ", ", TextType(each.inputs[i].dtype(), DimsText(each.inputs[i].dims())), " ",
                    std::string(1, static_cast<char>('a' + i)));
    if (each.inputs[i].rank() == 0) inputs.erase(inputs.rfind("[]"), 2);
  }
  const std::vector<DType> types = each.outputs.empty() ? std::vector<DType>{each.inputs[0].dtype()} : each.outputs;
  for (size_t i = 0; i < types.size(); ++i) {
    absl::StrAppend(&outputs, i == 0 ? "" : ", ", TextType(types[i], "[]"), " ", std::string(1, "yzwv"[i]));
  }
  return absl::StrCat("<ir_version: 10, opset_import: [\"\" : ", each.opset,
                      ", \"com.microsoft\" : 1, \"ai.amp\" : 1]> g (", inputs, ") => (", outputs, ") {", each.node,
                      "}");
}

struct Ran {
  std::vector<Datum> outputs;
  std::string family;
};

inline absl::StatusOr<Ran> RunCase(const BothCase& each, FindKernels find, int threads = 1) {
  AMP_ASSIGN_OR_RETURN(const std::string bytes, ParseOnnxText(ModelText(each)));
  AMP_ASSIGN_OR_RETURN(LoadedFile file, ParseModel(bytes));
  AMP_ASSIGN_OR_RETURN(const auto session,
                       Session::Create(std::move(file), {.limits = {}, .threads = threads, .find_kernels = find}));
  NamedDatums inputs;
  for (size_t i = 0; i < each.inputs.size(); ++i) {
    // In elements of their own, so that kernels may work in place.
    Tensor copy = *Tensor::Create(each.inputs[i].dtype(), each.inputs[i].dims());
    copy.set_layout(each.inputs[i].layout());
    std::copy(each.inputs[i].bytes().begin(), each.inputs[i].bytes().end(), copy.mutable_bytes().begin());
    inputs[std::string(1, static_cast<char>('a' + i))] = Datum(std::move(copy));
  }
  Ran ran;
  AMP_ASSIGN_OR_RETURN(ran.outputs, session->Run(inputs));
  for (const auto& block : session->program().blocks) {
    for (const Instruction& instruction : block) {
      const absl::MutexLock lock(&instruction.site->mutex);
      ran.family = std::string(instruction.site->row->family);
    }
  }
  return ran;
}

inline double LastPlace(DType type) {
  return type == DType::kFloat16 ? 0x1p-10 : type == DType::kBfloat16 ? 0x1p-7 : 0;
}
inline double Least(DType type) { return type == DType::kFloat16 ? 0x1p-24 : 0; }

inline std::string Difference(const Tensor& found, const Tensor& expected, const BothCase& each) {
  if (found.dtype() != expected.dtype() || found.dims() != expected.dims()) {
    return absl::StrCat("found ", found.TypeText(), ", expected ", expected.TypeText());
  }
  const Tensor plain_found = found.dtype() == DType::kBool ? found.Reinterpreted(DType::kUint8) : found;
  const Tensor plain = expected.dtype() == DType::kBool ? expected.Reinterpreted(DType::kUint8) : expected;
  const std::vector<double> a = *ReadDoubles(plain_found), b = *ReadDoubles(plain);
  const double relative = each.relative + LastPlace(found.dtype()), absolute = each.absolute + Least(found.dtype());
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
    if (std::fabs(a[i] - b[i]) <= absolute + relative * std::fabs(b[i])) continue;
    return absl::StrCat(found.TypeText(), " element ", i, ": found ", a[i], ", expected ", b[i]);
  }
  return "";
}

// Whether the numbers are the same to the bit; what is not a number may have any of its bits.
inline bool AreSameBits(const Tensor& a, const Tensor& b) {
  if (a.bytes() == b.bytes()) return true;
  if (!VisitFloats(a.dtype(), [](auto) {})) return false;
  const std::vector<double> left = *ReadDoubles(a), right = *ReadDoubles(b);
  for (size_t i = 0; i < left.size(); ++i) {
    const bool is_same = left[i] == right[i] && std::signbit(left[i]) == std::signbit(right[i]);
    if (!is_same && !(std::isnan(left[i]) && std::isnan(right[i]))) return false;
  }
  return true;
}

// Whether several threads give the same bits.
inline std::string ThreadsDiffer(const BothCase& each, const Ran& alone) {
  for (const int threads : {2, 3}) {
    ShareSmallWork(true);
    const absl::StatusOr<Ran> found = RunCase(each, nullptr, threads);
    ShareSmallWork(false);
    if (!found.ok()) return absl::StrCat(threads, " threads: ", found.status().message());
    for (size_t i = 0; i < alone.outputs.size(); ++i) {
      if (!AreSameBits(*found->outputs[i].tensor(), *alone.outputs[i].tensor())) {
        return absl::StrCat("output ", i, ": other bits by ", threads, " threads");
      }
    }
  }
  return "";
}

inline std::string RunBoth(const BothCase& each) {
  BothCase row_major = each;
  for (Tensor& input : row_major.inputs) input = *InLayout(input, Layout::kRowMajor, nullptr);
  const absl::StatusOr<Ran> expected = RunCase(row_major, FindReferenceKernels);
  if (!expected.ok()) return absl::StrCat("reference: ", expected.status().message());
  for (const Loops* loops : UsableLoops()) {
    UseLoops(loops);
    const absl::StatusOr<Ran> found = RunCase(each, nullptr);
    const std::string threads = found.ok() ? ThreadsDiffer(each, *found) : "";
    UseLoops(nullptr);
    if (!found.ok()) return absl::StrCat(loops->name, ": ", found.status().message());
    if (!threads.empty()) return absl::StrCat(loops->name, ": ", each.node, ": ", threads);
    if (found->family != each.family) return absl::StrCat(loops->name, ": ran ", found->family);
    for (size_t i = 0; i < found->outputs.size(); ++i) {
      const std::string difference = Difference(*found->outputs[i].tensor(), *expected->outputs[i].tensor(), each);
      if (!difference.empty()) return absl::StrCat(loops->name, ": ", each.node, ": output ", i, ": ", difference);
    }
  }
  return "";
}

}  // namespace amp

#endif  // AMP_TESTS_RUNTIME_LOOPS_RUN_BOTH_H_
