// NaN and infinities ahead of what a product or a convolution computes behind itself: they come through as if every
// node ran alone, and numbers take the fast way again.
#include <cmath>
#include <limits>

#include "ir/base/convert.h"
#include "tests/catch2.h"
#include "tests/runtime/fused_case.h"

namespace amp {
namespace {

constexpr DType kFloats[] = {DType::kFloat32, DType::kFloat16, DType::kBfloat16};
constexpr double kNan = std::numeric_limits<double>::quiet_NaN(), kInf = std::numeric_limits<double>::infinity();

// The rows of x are plain, but one: which begins with NaN, an infinity, or what overflows in a product.
NamedDatums With(double number, const FuseCase& each, const std::string& input, DType dtype) {
  NamedDatums inputs = InputsOf(each, dtype);
  Tensor& tensor = *inputs.at(input).mutable_tensor();
  std::vector<double> elements = *ReadDoubles(tensor);
  elements[elements.size() / 2] = number;
  Tensor changed = *Tensor::Create(dtype, tensor.dims());
  REQUIRE(WriteDoubles(elements, changed).ok());
  inputs[input] = changed;
  return inputs;
}

// The operators that ran on numbers, after all others went through as one by one; or what differs.
std::string Through(const FuseCase& each, DType dtype) {
  const SessionText text = TextOf(each, dtype);
  const auto fused = MakeSession(text, {}), plain = MakeSession(text, OneByOne());
  const double tolerance = each.tolerance + 4 * LastPlace(dtype);
  const auto differ = [&](const NamedDatums& inputs) {
    return DifferenceOf(RunSession(*fused, inputs), RunSession(*plain, inputs), tolerance);
  };
  for (const auto& [name, dims] : each.tensors) {
    if (!IsFuseInput(name)) continue;
    for (const double number : {kNan, kInf, -kInf}) {
      const std::string difference = differ(With(number, each, name, dtype));
      if (!difference.empty()) return absl::StrCat(number, " in ", name, ": ", difference);
    }
  }
  const std::string difference = differ(InputsOf(each, dtype));
  return difference.empty() ? OperatorsOf(*fused) : difference;
}

const std::string kActivations[] = {"Relu",
                                    "LeakyRelu",
                                    "LeakyRelu <alpha = 0.0>",
                                    "Sigmoid",
                                    "Tanh",
                                    "HardSwish",
                                    "HardSigmoid",
                                    "Elu",
                                    "Elu <alpha = 0.0>",
                                    "Gelu",
                                    "Gelu <approximate = \"tanh\">"};

TEST_CASE("NaN and infinities come through every activation behind a product") {
  for (const std::string& activation : kActivations) {
    for (const DType dtype : kFloats) {
      INFO(activation << " " << DTypeName(dtype));
      CHECK(Through({.graph = "(T[n,8] x) => (T[] y) { h = MatMul (x, w) y = " + activation + " (h) }",
                     .tensors = {{"x", {5, 8}}, {"w", {8, 6}}}},
                    dtype) == "MatMul");
      CHECK(Through({.graph = "(T[n,8] x, T[n,6] r) => (T[] y) { h = Gemm (x, w, b) s1 = Add (h, r) y = " + activation +
                              " (s1) }",
                     .tensors = {{"x", {5, 8}}, {"r", {5, 6}}, {"w", {8, 6}}, {"b", {6}}}},
                    dtype) == "Gemm");
    }
  }
}

TEST_CASE("NaN and infinities come through every activation behind a convolution") {
  for (const std::string& activation : kActivations) {
    for (const DType dtype : kFloats) {
      INFO(activation << " " << DTypeName(dtype));
      CHECK(Through({.graph = "(T[n,4,6,6] x, T[n,8,4,4] r) => (T[] y) { h = Conv (x, w, b) s1 = Add (h, r) y = " +
                              activation + " (s1) }",
                     .tensors = {{"x", {1, 4, 6, 6}}, {"r", {1, 8, 4, 4}}, {"w", {8, 4, 3, 3}}, {"b", {8}}}},
                    dtype) == "Conv");
    }
  }
}

TEST_CASE("NaN and infinities come through Clip with one bound, both or none, behind a depthwise convolution") {
  for (const std::string bounds : {", low, high", ", low", ", , high", ""}) {
    for (const DType dtype : kFloats) {
      INFO(bounds << " " << DTypeName(dtype));
      const std::string type = FuseTypeName(dtype);
      // ONNX's text has 16-bit numbers as their bits.
      const std::string six = dtype == DType::kFloat32 ? "6" : absl::StrCat(NarrowOne(6, dtype));
      CHECK(Through({.graph = "(T[n,8,6,6] x) => (T[] y) <" + type + " low = {0}, " + type + " high = {" + six +
                              "}> { h = Conv <group = 8> (x, w) y = Clip (h" + bounds + ") }",
                     .tensors = {{"x", {1, 8, 6, 6}}, {"w", {8, 1, 3, 3}}}},
                    dtype) == "Conv");
    }
  }
}

TEST_CASE("NaN in an operand that is multiplied, and in weights that are no constant") {
  CHECK(Through({.graph = "(T[n,8] x, T[n,6] r) => (T[] y) { h = MatMul (x, w) m = Mul (h, r) y = Relu (m) }",
                 .tensors = {{"x", {5, 8}}, {"r", {5, 6}}, {"w", {8, 6}}}},
                DType::kFloat32) == "MatMul");
  CHECK(Through({.graph = "(T[n,8] x, T[8,6] r) => (T[] y) { h = MatMul (x, r) y = Relu (h) }",
                 .tensors = {{"x", {5, 8}}, {"r", {8, 6}}}},
                DType::kFloat32) == "MatMul");
}

TEST_CASE("NaN and infinities come through the activation that a FusedConv states") {
  for (const std::string activation : {"activation = \"Relu\"", "activation = \"Clip\", activation_params = [0.0, 6.0]",
                                       "activation = \"HardSigmoid\", activation_params = [0.2, 0.5]"}) {
    INFO(activation);
    CHECK(Through({.graph = "(T[n,4,6,6] x) => (T[] y) { y = com.microsoft.FusedConv <" + activation + "> (x, w) }",
                   .tensors = {{"x", {1, 4, 6, 6}}, {"w", {8, 4, 3, 3}}}},
                  DType::kFloat32) == "FusedConv");
  }
}

TEST_CASE("sums of products that overflow are infinite behind Relu, and NaN where infinities meet") {
  const FuseCase each = {.graph =
                             "(T[n,2] x) => (T[] y) <T[2,2] w = {3.0, 3.0, 3.0, -3.0}> "
                             "{ h = MatMul (x, w) y = Relu (h) }",
                         .tensors = {{"x", {1, 2}}}};
  const NamedDatums inputs = {{"x", Tensor::Of<float>(DType::kFloat32, {1, 2}, {3e38F, 3e38F})}};
  const SessionText text = TextOf(each, DType::kFloat32);
  const auto fused = MakeSession(text, {}), plain = MakeSession(text, OneByOne());
  CHECK(DifferenceOf(RunSession(*fused, inputs), RunSession(*plain, inputs), 0) == "");
}

}  // namespace
}  // namespace amp
