// Arithmetic on quantised numbers by kernels of a device, against the reference: equal to the last bit.
#include <tuple>

#include "absl/strings/str_cat.h"
#include "tests/catch2.h"
#include "tests/runtime/device/run_on_device.h"

namespace amp {
namespace {

using Catch::Matchers::Contains;

constexpr DType kBytes[] = {DType::kUint8, DType::kInt8};

Tensor Numbers(DType dtype, const Dims& dims) { return RandomTensor(dtype, dims, Values::kPlain, 90); }
Tensor ScaleOf(double size, const Dims& dims = {}) {
  return RandomTensor(DType::kFloat32, dims, Values::kPositive, size);
}
Tensor ZeroPoint(DType dtype, const Dims& dims = {}) { return RandomTensor(dtype, dims, Values::kPlain, 40); }

std::string Differs(const std::string& node, const std::vector<Tensor>& inputs, const std::vector<DType>& outputs) {
  return RunOnDevice({.node = node, .inputs = inputs, .outputs = outputs, .relative = 0, .absolute = 0});
}

// ---- floats to integers and back ------------------------------------------------------------------------------------

TEST_CASE("device: floats to 8 bits and back, with one scale or one for each index of an axis") {
  for (const DType dtype : kBytes) {
    for (const Dims& dims : {Dims{2, 5, 3, 7}, Dims{1, 5, 1300, 1}, Dims{0, 5, 2, 2}, Dims{1, 5}}) {
      const Tensor x = RandomTensor(DType::kFloat32, dims, Values::kWithSpecial, 100), q = Numbers(dtype, dims);
      for (const Dims& scales : {Dims{}, Dims{1}, Dims{5}}) {
        const Tensor scale = ScaleOf(1, scales), zero = ZeroPoint(dtype, scales);
        CHECK(Differs("y = QuantizeLinear(a, b, c)", {x, scale, zero}, {dtype}) == "");
        CHECK(Differs("y = QuantizeLinear(a, b)", {x, scale}, {DType::kUint8}) == "");
        CHECK(Differs("y = DequantizeLinear(a, b, c)", {q, scale, zero}, {DType::kFloat32}) == "");
        CHECK(Differs("y = DequantizeLinear(a, b)", {q, scale}, {DType::kFloat32}) == "");
      }
    }
    const Tensor x = RandomTensor(DType::kFloat32, {4, 3, 6}, Values::kPlain, 100);
    CHECK(Differs("y = QuantizeLinear<axis = -1>(a, b, c)", {x, ScaleOf(1, {6}), ZeroPoint(dtype, {6})}, {dtype}) ==
          "");
    CHECK(Differs("y = DequantizeLinear<axis = 0>(a, b)", {Numbers(dtype, {4, 3}), ScaleOf(1, {4})},
                  {DType::kFloat32}) == "");
  }
  const Tensor halves = Tensor::Of<float>(DType::kFloat32, {6}, {0.5, 1.5, 2.5, -0.5, 300, -300});
  CHECK(Differs("y = QuantizeLinear(a, b)", {halves, Tensor::Scalar(1.0f)}, {DType::kUint8}) == "");
  CHECK(Differs("y = QuantizeLinear<output_dtype = 3>(a, b)", {halves, Tensor::Scalar(1.0f)}, {DType::kInt8}) == "");
}

TEST_CASE("device: 16-bit floats and int32 with scales of their own types") {
  for (const DType dtype : {DType::kFloat16, DType::kBfloat16}) {
    const Tensor x = RandomTensor(dtype, {50, 40}, Values::kPlain, 20), scale = Tensor::Scalar(0.37f);
    const Tensor low = RandomTensor(dtype, {}, Values::kPositive, 1), zero = ZeroPoint(DType::kInt8);
    CHECK(Differs("y = QuantizeLinear(a, b, c)", {x, low, zero}, {DType::kInt8}) == "");
    CHECK(Differs("y = DequantizeLinear(a, b, c)", {Numbers(DType::kInt8, {50, 40}), low, zero}, {dtype}) == "");
  }
  const Tensor wide = RandomTensor(DType::kInt32, {50, 40}, Values::kPlain, 1e8);
  CHECK(Differs("y = DequantizeLinear(a, b)", {wide, ScaleOf(1e-3)}, {DType::kFloat32}) == "");
}

TEST_CASE("device: numbers that are quantised over their own range") {
  const std::vector<DType> outputs = {DType::kUint8, DType::kFloat32, DType::kUint8};
  const Tensor ones = Tensor::Of<float>(DType::kFloat32, {3}, {1, 1, 1}), zeros = Tensor::Scalar(0.0f);
  for (const Tensor& x :
       {RandomTensor(DType::kFloat32, {7, 300}), RandomTensor(DType::kFloat32, {}), ones, zeros,
        RandomTensor(DType::kFloat32, {40}, Values::kPositive), *Tensor::Create(DType::kFloat32, {0})}) {
    CHECK(Differs("y, z, w = DynamicQuantizeLinear(a)", {x}, outputs) == "");
  }
}

TEST_CASE("device: quantisation in ways that are left to the processor") {
  const Tensor x = RandomTensor(DType::kFloat32, {4, 6}), scales = ScaleOf(1, {2, 6});
  CHECK_THAT(WhyOnHost({.node = "y = QuantizeLinear<axis = 0, block_size = 2>(a, b)",
                        .inputs = {x, scales},
                        .outputs = {DType::kUint8}}),
             Contains("scales of blocks"));
  CHECK_THAT(WhyOnHost({.node = "y = QuantizeLinear(a, b, c)",
                        .inputs = {x, ScaleOf(1), RandomTensor(DType::kInt16, {})},
                        .outputs = {DType::kInt16}}),
             Contains("another type than 8 bits"));
}

// ---- com.microsoft's operators --------------------------------------------------------------------------------------

TEST_CASE("device: sums and products of quantised numbers of all shapes that broadcast") {
  const std::pair<Dims, Dims> shapes[] = {{{2, 3, 70}, {2, 3, 70}}, {{3, 70}, {}}, {{}, {3, 70}}, {{2, 3, 70}, {3, 1}},
                                          {{1, 3, 1}, {2, 1, 7}},   {{1}, {1}},    {{0, 4}, {4}}};
  for (const DType dtype : kBytes) {
    for (const auto& [a, b] : shapes) {
      for (const std::string op : {"QLinearAdd", "QLinearMul"}) {
        const std::vector<Tensor> inputs = {Numbers(dtype, a), ScaleOf(0.1),     ZeroPoint(dtype), Numbers(dtype, b),
                                            ScaleOf(0.2),      ZeroPoint(dtype), ScaleOf(0.3),     ZeroPoint(dtype)};
        CHECK(Differs(absl::StrCat("y = com.microsoft.", op, "(a, b, c, d, e, f, g, h)"), inputs, {dtype}) == "");
      }
    }
  }
}

TEST_CASE("device: all pairs of numbers, where quotients end in halves, and beyond the type") {
  for (const DType dtype : kBytes) {
    Tensor a = *Tensor::Create(dtype, {256, 1}), b = *Tensor::Create(dtype, {256});
    for (size_t i = 0; i < 256; ++i) a.mutable_bytes()[i] = b.mutable_bytes()[i] = static_cast<std::byte>(i);
    for (const auto& [scale_a, scale_b, scale_y] :
         {std::tuple(1.0f, 1.0f, 2.0f), {0.5f, 0.25f, 0.5f}, {0.1f, 0.1f, 0.2f}, {3e38f, 3e38f, 1e-38f}}) {
      for (const std::string op : {"QLinearAdd", "QLinearMul"}) {
        const std::vector<Tensor> inputs = {a,
                                            Tensor::Scalar(scale_a),
                                            ZeroPoint(dtype),
                                            b,
                                            Tensor::Scalar(scale_b),
                                            ZeroPoint(dtype),
                                            Tensor::Scalar(scale_y),
                                            ZeroPoint(dtype)};
        CHECK(Differs(absl::StrCat("y = com.microsoft.", op, "(a, b, c, d, e, f, g, h)"), inputs, {dtype}) == "");
      }
    }
  }
}

TEST_CASE("device: functions of one quantised number, joining, averages of images") {
  for (const DType dtype : kBytes) {
    for (const Dims& dims : {Dims{2, 300}, Dims{}, Dims{0}}) {
      const std::vector<Tensor> inputs = {Numbers(dtype, dims), ScaleOf(0.1), ZeroPoint(dtype), ScaleOf(0.02),
                                          ZeroPoint(dtype)};
      for (const std::string op : {"QLinearSigmoid", "QLinearLeakyRelu", "QLinearLeakyRelu<alpha = -0.5>"}) {
        CHECK(Differs(absl::StrCat("y = com.microsoft.", op, "(a, b, c, d, e)"), inputs, {dtype}) == "");
      }
    }
    for (const std::string axis : {"1", "0", "-1"}) {
      const Dims a = {2, 3, 5}, b = axis == "1" ? Dims{2, 1, 5} : axis == "0" ? Dims{4, 3, 5} : Dims{2, 3, 0};
      CHECK(Differs("y = com.microsoft.QLinearConcat<axis = " + axis + ">(a, b, c, d, e, f, g, h)",
                    {ScaleOf(0.2), ZeroPoint(dtype), Numbers(dtype, a), ScaleOf(0.1), ZeroPoint(dtype),
                     Numbers(dtype, b), ScaleOf(0.3), ZeroPoint(dtype)},
                    {dtype}) == "");
    }
    for (const Dims& dims : {Dims{2, 3, 5, 7}, Dims{2, 3, 1}, Dims{1, 1, 40, 40, 3}}) {
      CHECK(Differs("y = com.microsoft.QLinearGlobalAveragePool(a, b, c, d, e)",
                    {Numbers(dtype, dims), ScaleOf(0.1), ZeroPoint(dtype), ScaleOf(0.05), ZeroPoint(dtype)},
                    {dtype}) == "");
    }
  }
  CHECK_THAT(WhyOnHost({.node = "y = com.microsoft.QLinearSigmoid(a, b, c, d, e)",
                        .inputs = {Numbers(DType::kUint8, {7}), Tensor::Scalar(INFINITY), ZeroPoint(DType::kUint8),
                                   ScaleOf(1), ZeroPoint(DType::kUint8)}}),
             Contains("scales or zero points of another kind"));
}

// ---- products and convolutions --------------------------------------------------------------------------------------

TEST_CASE("device: products of integers of both signs, with zero points or without") {
  const std::pair<Dims, Dims> shapes[] = {
      {{5, 70}, {70, 33}}, {{2, 3, 70}, {70, 4}}, {{2, 3, 70}, {2, 70, 4}}, {{2, 1, 3, 7}, {5, 7, 4}}, {{70}, {70, 3}}};
  for (const DType a : kBytes) {
    for (const DType b : kBytes) {
      for (const auto& [a_dims, b_dims] : shapes) {
        const std::vector<Tensor> inputs = {Numbers(a, a_dims), Numbers(b, b_dims), ZeroPoint(a), ZeroPoint(b),
                                            ZeroPoint(b, {b_dims.back()})};
        for (const std::string names : {"a, b", "a, b, c", "a, b, c, d", "a, b, , e"}) {
          CHECK(Differs("y = MatMulInteger(" + names + ")", inputs, {DType::kInt32}) == "");
        }
      }
    }
  }
  CHECK_THAT(WhyOnHost({.node = "y = MatMulInteger(a, b, c)",
                        .inputs = {Numbers(DType::kUint8, {2, 3}), Numbers(DType::kUint8, {3, 4}),
                                   ZeroPoint(DType::kUint8, {2})},
                        .outputs = {DType::kInt32}}),
             Contains("zero points by row"));
}

TEST_CASE("device: products that are quantised again round and saturate as the reference does") {
  for (const DType a : kBytes) {
    for (const DType b : kBytes) {
      for (const DType y : kBytes) {
        for (const Dims& columns : {Dims{}, Dims{33}}) {
          for (const float scale : {0.7f, 0.25f, 40.0f}) {
            const std::vector<Tensor> inputs = {
                Numbers(a, {5, 70}),    Tensor::Scalar(0.02f), ZeroPoint(a),          Numbers(b, {70, 33}),
                ScaleOf(0.05, columns), ZeroPoint(b, columns), Tensor::Scalar(scale), ZeroPoint(y)};
            CHECK(Differs("y = QLinearMatMul(a, b, c, d, e, f, g, h)", inputs, {y}) == "");
          }
        }
      }
    }
  }
}

struct ConvolutionCase {
  Dims x, w;
  std::string attributes;
};

TEST_CASE("device: convolutions of integers, whose padding is the zero point") {
  const ConvolutionCase cases[] = {
      {{2, 6, 9, 11}, {10, 6, 3, 3}, "strides = [2, 1], pads = [1, 2, 0, 1], dilations = [1, 2]"},
      {{3, 5, 40}, {7, 5, 4}, "pads = [2, 1]"},
      {{1, 4, 5, 6, 7}, {3, 4, 2, 3, 2}, "pads = [1, 0, 1, 0, 2, 1]"},
      {{1, 16, 9, 9}, {16, 1, 3, 3}, "group = 16, pads = [1, 1, 1, 1]"},
      {{2, 8, 7, 7}, {6, 4, 3, 3}, "group = 2, auto_pad = \"SAME_UPPER\""}};
  for (const auto& [x_dims, w_dims, attributes] : cases) {
    const int64_t filters = w_dims[0];
    for (const DType a : kBytes) {
      for (const DType b : kBytes) {
        const Tensor x = Numbers(a, x_dims), w = Numbers(b, w_dims);
        for (const std::string names : {"a, b", "a, b, c", "a, b, c, d", "a, b, , e"}) {
          CHECK(Differs(absl::StrCat("y = ConvInteger<", attributes, ">(", names, ")"),
                        {x, w, ZeroPoint(a), ZeroPoint(b), ZeroPoint(b, {filters})}, {DType::kInt32}) == "");
        }
        const Tensor bias = RandomTensor(DType::kInt32, {filters}, Values::kPlain, 1000);
        for (const Dims& each : {Dims{}, Dims{filters}}) {
          CHECK(Differs(absl::StrCat("y = QLinearConv<", attributes, ">(a, b, c, d, e, f, g, h, i)"),
                        {x, Tensor::Scalar(0.02f), ZeroPoint(a), w, ScaleOf(0.05, each), ZeroPoint(b, each),
                         Tensor::Scalar(1.3f), ZeroPoint(a), bias},
                        {a}) == "");
        }
      }
    }
  }
}

}  // namespace
}  // namespace amp
