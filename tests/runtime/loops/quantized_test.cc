// Arithmetic on quantised numbers by loops against the reference, to the last bit.
#include <tuple>

#include "tests/catch2.h"
#include "tests/runtime/loops/run_both.h"

namespace amp {
namespace {

constexpr DType kBytes[] = {DType::kUint8, DType::kInt8};

Tensor Numbers(DType dtype, const Dims& dims) { return RandomTensor(dtype, dims, Values::kPlain, 90); }
Tensor ScaleOf(double size) { return RandomTensor(DType::kFloat32, {}, Values::kPositive, size); }
Tensor ZeroPoint(DType dtype) { return RandomTensor(dtype, {}, Values::kPlain, 40); }

std::string Differs(const std::string& node, const std::vector<Tensor>& inputs, const std::string& family = "loops") {
  return RunBoth({.node = "y = com.microsoft." + node,
                  .inputs = inputs,
                  .outputs = {inputs[0].dtype()},
                  .relative = 0,
                  .absolute = 0,
                  .family = family});
}

TEST_CASE("sums and products of quantised numbers of all shapes that broadcast") {
  const std::pair<Dims, Dims> shapes[] = {{{2, 3, 70}, {2, 3, 70}}, {{3, 70}, {}}, {{}, {3, 70}}, {{2, 3, 70}, {3, 1}},
                                          {{1, 3, 1}, {2, 1, 7}},   {{1}, {1}},    {{0, 4}, {4}}, {{2, 1, 33}, {5, 1}}};
  for (const DType dtype : kBytes) {
    for (const auto& [a, b] : shapes) {
      INFO(DimsText(a) << DimsText(b));
      for (const std::string op : {"QLinearAdd", "QLinearMul"}) {
        const std::vector<Tensor> inputs = {Numbers(dtype, a), ScaleOf(0.1),     ZeroPoint(dtype), Numbers(dtype, b),
                                            ScaleOf(0.2),      ZeroPoint(dtype), ScaleOf(0.3),     ZeroPoint(dtype)};
        CHECK(Differs(op + "(a, b, c, d, e, f, g, h)", inputs) == "");
      }
    }
  }
}

TEST_CASE("all pairs of numbers, where quotients end in halves, and beyond the type") {
  for (const DType dtype : kBytes) {
    Tensor a = *Tensor::Create(dtype, {256, 1}), b = *Tensor::Create(dtype, {256});
    for (size_t i = 0; i < 256; ++i) a.mutable_bytes()[i] = b.mutable_bytes()[i] = static_cast<std::byte>(i);
    for (const auto& [scale_a, scale_b, scale_y] : {std::tuple(1.0f, 1.0f, 2.0f),
                                                    {0.5f, 0.25f, 0.5f},
                                                    {0.1f, 0.1f, 0.2f},
                                                    {3e38f, 3e38f, 1e-38f},
                                                    {1e-40f, 1e-40f, 1.0f}}) {
      for (const std::string op : {"QLinearAdd", "QLinearMul"}) {
        CHECK(Differs(op + "(a, b, c, d, e, f, g, h)",
                      {a, Tensor::Scalar(scale_a), ZeroPoint(dtype), b, Tensor::Scalar(scale_b), ZeroPoint(dtype),
                       Tensor::Scalar(scale_y), ZeroPoint(dtype)}) == "");
        CHECK(Differs(op + "(a, b, , c, d, , e)",
                      {a, Tensor::Scalar(scale_a), b, Tensor::Scalar(scale_b), Tensor::Scalar(scale_y)}) == "");
      }
    }
  }
}

TEST_CASE("functions of one quantised number") {
  for (const DType dtype : kBytes) {
    for (const Dims& dims : {Dims{2, 300}, Dims{}, Dims{0}}) {
      const Tensor x = Numbers(dtype, dims);
      for (const std::string op : {"QLinearSigmoid", "QLinearLeakyRelu", "QLinearLeakyRelu<alpha = -0.5>"}) {
        CHECK(Differs(op + "(a, b, c, d, e)", {x, ScaleOf(0.1), ZeroPoint(dtype), ScaleOf(0.02), ZeroPoint(dtype)}) ==
              "");
        CHECK(Differs(op + "(a, b, , c)", {x, ScaleOf(0.1), ScaleOf(0.02)}) == "");
      }
    }
  }
}

TEST_CASE("joining numbers of several scales") {
  for (const DType dtype : kBytes) {
    for (const std::string axis : {"1", "0", "-1"}) {
      const Dims a = {2, 3, 5}, b = axis == "1" ? Dims{2, 1, 5} : axis == "0" ? Dims{4, 3, 5} : Dims{2, 3, 0};
      CHECK(RunBoth({.node = "y = com.microsoft.QLinearConcat<axis = " + axis + ">(a, b, c, d, e, f, g, h)",
                     .inputs = {ScaleOf(0.2), ZeroPoint(dtype), Numbers(dtype, a), ScaleOf(0.1), ZeroPoint(dtype),
                                Numbers(dtype, b), ScaleOf(0.3), ZeroPoint(dtype)},
                     .outputs = {dtype},
                     .relative = 0}) == "");
    }
  }
}

TEST_CASE("averages of whole quantised images") {
  for (const DType dtype : kBytes) {
    for (const Dims& dims : {Dims{2, 3, 5, 7}, Dims{2, 3, 1}, Dims{1, 1, 40, 40, 3}}) {
      CHECK(Differs("QLinearGlobalAveragePool(a, b, c, d, e)",
                    {Numbers(dtype, dims), ScaleOf(0.1), ZeroPoint(dtype), ScaleOf(0.05), ZeroPoint(dtype)}) == "");
    }
    CHECK(Differs("QLinearGlobalAveragePool<channels_last = 1>(a, b, c, d, e)",
                  {Numbers(dtype, {2, 5, 7, 3}), ScaleOf(0.1), ZeroPoint(dtype), ScaleOf(0.05), ZeroPoint(dtype)},
                  "reference") == "");
  }
}

TEST_CASE("scales that are not finite are for others") {
  const DType dtype = DType::kUint8;
  CHECK(Differs("QLinearSigmoid(a, b, c, d, e)",
                {Numbers(dtype, {7}), Tensor::Scalar(INFINITY), ZeroPoint(dtype), ScaleOf(1), ZeroPoint(dtype)},
                "reference") == "");
}

}  // namespace
}  // namespace amp
