// NaN and infinities ahead of what a product or a convolution computes behind itself: they come through as if every
// node ran alone, and numbers take the fast way again.
#include <algorithm>
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

// The bound of one result is used for the next node, which looks at nothing then.
TEST_CASE("NaN and infinities come through layers behind layers") {
  for (const std::string& activation : kActivations) {
    for (const DType dtype : kFloats) {
      INFO(activation << " " << DTypeName(dtype));
      CHECK(Through({.graph = "(T[n,8] x) => (T[] y) { h = MatMul (x, w) a = " + activation +
                              " (h) i = MatMul (a, v) b = Relu (i) j = MatMul (b, w) y = HardSigmoid (j) }",
                     .tensors = {{"x", {5, 8}}, {"w", {8, 6}}, {"v", {6, 8}}}},
                    dtype) == "MatMul MatMul MatMul");
      CHECK(Through({.graph = "(T[n,4,6,6] x, T[n,8,4,4] r) => (T[] y) { h = Conv (x, w, b) s1 = Add (h, r) a = " +
                              activation + " (s1) i = Conv (a, v) c = Relu (i) d = Add (c, a) y = Conv (d, u) }",
                     .tensors = {{"x", {1, 4, 6, 6}},
                                 {"r", {1, 8, 4, 4}},
                                 {"w", {8, 4, 3, 3}},
                                 {"b", {8}},
                                 {"v", {8, 8, 1, 1}},
                                 {"u", {3, 8, 1, 1}}}},
                    dtype) == "Conv Conv Conv");
    }
  }
}

TEST_CASE("bounds that grow beyond the largest number are looked at again") {
  std::string graph = "(T[n,4] x) => (T[] y) { ";
  std::string last = "x";
  constexpr int kLayers = 40;  // each by at least four: beyond 3e38, were it not for the looks
  for (int i = 0; i < kLayers; ++i) {
    const std::string product = absl::StrCat("h", i), result = i + 1 == kLayers ? "y" : absl::StrCat("a", i);
    absl::StrAppend(&graph, product, " = MatMul (", last, ", w) ", result, " = Relu (", product, ") ");
    last = result;
  }
  const FuseCase each = {.graph = graph + "}", .tensors = {{"x", {3, 4}}}};
  SessionText text = TextOf(each, DType::kFloat32);
  std::vector<float> identity(16, 0);
  for (size_t i = 0; i < 4; ++i) identity[5 * i] = 1;
  text.constants.emplace_back("w", Tensor::Of<float>(DType::kFloat32, {4, 4}, identity));
  const auto fused = MakeSession(text, {});
  const NamedDatums inputs = InputsOf(each, DType::kFloat32);
  const Tensor y = RunSession(*fused, inputs)[0];
  const auto x = inputs.at("x").tensor()->elements<float>();
  for (size_t i = 0; i < x.size(); ++i) CHECK(y.elements<float>()[i] == std::max(x[i], 0.0F));
  CHECK(OperatorsOf(*fused).find("Relu") == std::string::npos);
}

TEST_CASE("what a caller has made of a result is not what was known of it") {
  const FuseCase each = {.graph = "(T[n,4] x) => (T[] y) { h = MatMul (x, w) y = Relu (h) }",
                         .tensors = {{"x", {3, 4}}, {"w", {4, 4}}}};
  const auto session = MakeSession(TextOf(each, DType::kFloat32), {});
  const Tensor y = RunSession(*session, InputsOf(each, DType::kFloat32))[0];
  CHECK(std::isfinite(y.magnitude_bound()));
  Tensor copy = y;
  copy.mutable_elements<float>()[0] = static_cast<float>(kNan);  // of the same elements
  CHECK_FALSE(std::isfinite(copy.magnitude_bound()));
  CHECK(std::isnan(RunSession(*session, {{"x", y}})[0].elements<float>()[0]));
}

// Says how the results of nodes together and of nodes one by one differ; "" if they do not.
std::string TogetherAndApart(const SessionText& text, const NamedDatums& inputs) {
  const auto fused = MakeSession(text, {}), plain = MakeSession(text, OneByOne());
  return DifferenceOf(RunSession(*fused, inputs), RunSession(*plain, inputs), 0);
}

constexpr char kHead[] = "<ir_version: 10, opset_import: [\"\" : 22, \"com.microsoft\" : 1]> g ";

Tensor Identity(int64_t size) {
  std::vector<float> elements(static_cast<size_t>(size * size), 0);
  for (int64_t i = 0; i < size; ++i) elements[static_cast<size_t>(i * (size + 1))] = 1;
  return Tensor::Of<float>(DType::kFloat32, {size, size}, elements);
}

TEST_CASE("what is known of a cache is not known of what is appended to it in place") {
  const SessionText text = {
      .text = std::string(kHead) +
              R"((float[1,1,64,8] x, float[1,1,8] q, float[1,1,8] k) => (float[1,1,8] o, float[1,1,64,8] y)
        <int32[1] len = {2}, int32 total = {3}> {
        h = MatMul (x, w) past = Relu (h) i = MatMul (x, w) pastv = Relu (i)
        o, pk, pv = com.microsoft.GroupQueryAttention <num_heads = 1, kv_num_heads = 1> (q, k, q, past, pastv, len, total)
        m = MatMul (pk, w) y = Relu (m) })",
      .constants = {{"w", Identity(8)}}};
  Tensor key = RandomTensor(DType::kFloat32, {1, 1, 8}, Values::kPlain, 1);
  key.mutable_elements<float>()[0] = static_cast<float>(kNan);
  CHECK(TogetherAndApart(text, {{"x", RandomTensor(DType::kFloat32, {1, 1, 64, 8}, Values::kPlain, 1)},
                                {"q", RandomTensor(DType::kFloat32, {1, 1, 8}, Values::kPlain, 1)},
                                {"k", key}}) == "");
}

TEST_CASE("a bound holds of numbers that were rounded where they are subnormal") {
  SessionText whole = {.text = std::string(kHead) + R"((float16[64,1] x) => (float16[64,1] y) {
        a = MatMul (x, w0) b = Relu (a) c = MatMul (b, w1) d = MatMul (c, w1) e = MatMul (d, w2) f = MatMul (e, zero)
        y = Relu (f) })",
                       .constants = {}};
  for (const auto& [name, number] :
       std::vector<std::pair<std::string, double>>{{"w0", 0x1p-13}, {"w1", 0x1p15}, {"w2", 0x1p10}, {"zero", 0.0}}) {
    Tensor weight = *Tensor::Create(DType::kFloat16, {1, 1});
    REQUIRE(WriteDoubles({number}, weight).ok());
    whole.constants.emplace_back(name, weight);
  }
  Tensor x = *Tensor::Create(DType::kFloat16, {64, 1});
  REQUIRE(WriteDoubles(std::vector<double>(64, 1.0625 * 0x1p-12), x).ok());
  CHECK(TogetherAndApart(whole, {{"x", x}}) == "");
}

TEST_CASE("steps with numbers that are none, or infinite, bound nothing") {
  const Tensor x = Tensor::Of<float>(DType::kFloat32, {1, 2}, {1, 2});
  const Tensor opposite = Tensor::Of<float>(DType::kFloat32, {2, 2}, {1, 1, -1, -1});
  for (const std::string step : {"Clip (h, up, up)", "Clip (h, down, down)", "LeakyRelu <alpha = nan> (h)",
                                 "Elu <alpha = nan> (h)", "Clip (h, none)"}) {
    INFO(step);
    const SessionText text = {.text = std::string(kHead) +
                                      "(float[1,2] x) => (float[1,2] y) { r = MatMul (x, w) h = Neg (r) c = " + step +
                                      " m = MatMul (c, v) y = Relu (m) }",
                              .constants = {{"w", Identity(2)},
                                            {"v", opposite},
                                            {"up", Tensor::Scalar(static_cast<float>(kInf))},
                                            {"down", Tensor::Scalar(static_cast<float>(-kInf))},
                                            {"none", Tensor::Scalar(static_cast<float>(kNan))}}};
    CHECK(TogetherAndApart(text, {{"x", x}}) == "");
  }
}

TEST_CASE("what a caller has made of an element of a sequence is not what was known of it") {
  const SessionText
      gives = {.text = std::string(kHead) +
                       "(float[3,4] x) => (seq(float) y) { h = MatMul (x, w) r = Relu (h) y = SequenceConstruct (r) }",
               .constants = {{"w", Identity(4)}}},
      takes = {.text = std::string(kHead) +
                       "(seq(float) s) => (float[3,4] y) <int64 first = {0}> "
                       "{ x = SequenceAt (s, first) h = MatMul (x, w) y = Relu (h) }",
               .constants = {{"w", Identity(4)}}};
  const auto giving = MakeSession(gives, {}), taking = MakeSession(takes, {});
  const std::vector<Datum> given = *giving->Run({{"x", RandomTensor(DType::kFloat32, {3, 4}, Values::kPlain, 1)}});
  Tensor element = *given[0].sequence()->elements[0].tensor();
  element.mutable_elements<float>()[0] = static_cast<float>(kNan);  // of the same elements
  CHECK(std::isnan(RunSession(*taking, {{"s", given[0]}})[0].elements<float>()[0]));
}

}  // namespace
}  // namespace amp
