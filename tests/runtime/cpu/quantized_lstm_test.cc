// com.microsoft's DynamicQuantizeLSTM by the library's products of 8 bits, against the reference.
#include <cmath>
#include <limits>
#include <string>

#include "absl/strings/str_cat.h"
#include "runtime/onednn/open_library.h"
#include "runtime/reference/reference_kernels.h"
#include "tests/catch2.h"
#include "tests/runtime/run_session.h"

namespace amp {
namespace {

constexpr int64_t kSteps = 5, kBatch = 3, kInput = 19, kHidden = 8, kRows = 4 * kHidden;

struct LstmCase {
  std::string direction = "forward";
  DType weights = DType::kInt8;
  bool by_row = false, has_bias = true, has_states = false;
  Tensor x = RandomTensor(DType::kFloat32, {kSteps, kBatch, kInput});

  int64_t directions() const { return direction == "bidirectional" ? 2 : 1; }
};

SessionText TextOf(const LstmCase& each) {
  const int64_t directions = each.directions();
  const Dims scales = each.by_row ? Dims{directions, kRows} : Dims{directions};
  const auto scale = [&] { return RandomTensor(DType::kFloat32, scales, Values::kPositive, 0.003); };
  const auto bytes = [&](const Dims& dims, double spread) {
    return RandomTensor(each.weights, dims, Values::kPlain, spread);
  };
  SessionText text = {.text = "",
                      .constants = {{"w", bytes({directions, kInput, kRows}, 60)},
                                    {"r", bytes({directions, kHidden, kRows}, 60)},
                                    {"b", RandomTensor(DType::kFloat32, {directions, 2 * kRows})},
                                    {"h0", RandomTensor(DType::kFloat32, {directions, kBatch, kHidden})},
                                    {"c0", RandomTensor(DType::kFloat32, {directions, kBatch, kHidden})},
                                    {"ws", scale()},
                                    {"wz", bytes(scales, 20)},
                                    {"rs", scale()},
                                    {"rz", bytes(scales, 20)}}};
  text.text = absl::StrCat(
      R"(<ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1]>
           g (float[n,m,k] x) => (float[] y, float[] h, float[] c) {
             y, h, c = com.microsoft.DynamicQuantizeLSTM <hidden_size = 8, direction = ")",
      each.direction, "\"> (x, w, r, ", each.has_bias ? "b" : "", ", , ", each.has_states ? "h0, c0" : ", ",
      ", , ws, wz, rs, rz) }");
  return text;
}

// "onednn" where that gives what the reference gives; else what is wrong.
std::string Family(const LstmCase& each) {
  const SessionText text = TextOf(each);
  const auto library = MakeSession(text);
  SessionOptions with_reference;
  with_reference.find_kernels = FindReferenceKernels;
  const NamedDatums inputs = {{"x", each.x}};
  const std::vector<Tensor> expected = RunSession(*MakeSession(text, with_reference), inputs);
  const std::string difference = DifferenceOf(RunSession(*library, inputs), expected, 1e-5);
  const std::string kernel = KernelsOf(*library)[0];
  return difference.empty() ? kernel.substr(0, kernel.find(' ')) : difference;
}

// Returns the family that should run: oneDNN's where the processor has exact dot products of 8 bits.
std::string Expected() {
  const onednn::Library* library = onednn::OpenLibrary().library;
  return library != nullptr && library->ComputesIn(DType::kInt8) ? "onednn" : "reference";
}

TEST_CASE("DynamicQuantizeLSTM in every direction, of signed and unsigned weights") {
  for (const std::string direction : {"forward", "reverse", "bidirectional"}) {
    for (const DType weights : {DType::kInt8, DType::kUint8}) {
      for (const bool flag : {false, true}) {
        INFO(direction << " " << DTypeName(weights) << " " << flag);
        CHECK(Family({.direction = direction, .weights = weights, .by_row = flag, .has_states = flag}) == Expected());
      }
    }
  }
  CHECK(Family({.has_bias = false}) == Expected());
  CHECK(Family({.x = RandomTensor(DType::kFloat32, {2, kBatch, kInput})}) == Expected());
}

TEST_CASE("DynamicQuantizeLSTM of zeros, which have scale 1") {
  Tensor zeros = *Tensor::Create(DType::kFloat32, {kSteps, kBatch, kInput});
  for (float& element : zeros.mutable_elements<float>()) element = 0;
  CHECK(Family({.x = zeros}) == Expected());
}

TEST_CASE("DynamicQuantizeLSTM keeps NaN and infinity from looking like numbers, and NaN to its sequence") {
  for (const float special : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    LstmCase each;
    each.x.mutable_elements<float>()[4] = special;
    const Tensor y = RunSession(*MakeSession(TextOf(each)), {{"x", each.x}})[0];
    CHECK(std::isnan(y.elements<float>()[0]));
    if (std::isnan(special)) CHECK_FALSE(std::isnan(y.elements<float>()[kHidden]));
  }
}

}  // namespace
}  // namespace amp
