// Quantization by loops against the reference.
#include "tests/catch2.h"
#include "tests/runtime/loops/run_both.h"

namespace amp {
namespace {

TEST_CASE("float32 to 8 bits and back, with one scale or one for each channel") {
  for (const DType dtype : {DType::kInt8, DType::kUint8}) {
    for (const Dims& dims : {Dims{2, 5, 3, 7}, Dims{1, 5, 1300, 1}, Dims{0, 5, 2, 2}, Dims{1, 5, 1, 1}}) {
      const Tensor x = RandomTensor(DType::kFloat32, dims, Values::kWithSpecial, 100),
                   q = RandomTensor(dtype, dims, Values::kPlain, 100);
      for (const Dims& scales : {Dims{}, Dims{5}}) {
        const Tensor scale = RandomTensor(DType::kFloat32, scales, Values::kPositive, 1),
                     zero = RandomTensor(dtype, scales, Values::kPlain, 30);
        CHECK(RunBoth({.node = "y = QuantizeLinear(a, b, c)",
                       .inputs = {x, scale, zero},
                       .outputs = {dtype},
                       .relative = 0}) == "");
        CHECK(RunBoth({.node = "y = DequantizeLinear(a, b, c)",
                       .inputs = {q, scale, zero},
                       .outputs = {DType::kFloat32},
                       .relative = 0}) == "");
        CHECK(RunBoth({.node = "y = DequantizeLinear(a, b)",
                       .inputs = {q, scale},
                       .outputs = {DType::kFloat32},
                       .relative = 0}) == "");
      }
    }
  }
  const Tensor halves = Tensor::Of<float>(DType::kFloat32, {6}, {0.5, 1.5, 2.5, -0.5, 300, -300});
  CHECK(RunBoth({.node = "y = QuantizeLinear(a, b)",
                 .inputs = {halves, Tensor::Scalar(1.0f)},
                 .outputs = {DType::kUint8},
                 .relative = 0}) == "");
}

TEST_CASE("float32 to 8 bits by its own range") {
  const auto check = [](const Tensor& x) {
    CHECK(RunBoth({.node = "y, z, w = DynamicQuantizeLinear(a)",
                   .inputs = {x},
                   .outputs = {DType::kUint8, DType::kFloat32, DType::kUint8},
                   .relative = 0}) == "");
  };
  for (const Values values : {Values::kPlain, Values::kWithSpecial, Values::kPositive}) {
    for (const Dims& dims : {Dims{}, Dims{7}, Dims{3, 5, 700}, Dims{0, 2}})
      check(RandomTensor(DType::kFloat32, dims, values));
  }
  check(Tensor::Of<float>(DType::kFloat32, {3}, {0, 0, 0}));
  check(Tensor::Of<float>(DType::kFloat32, {3}, {-2, -1, -5}));
  check(Tensor::Of<float>(DType::kFloat32, {3}, {NAN, 1, -5}));
  check(Tensor::Of<float>(DType::kFloat32, {2}, {NAN, NAN}));
  check(Tensor::Of<float>(DType::kFloat32, {2}, {1e-44f, 0}));
  check(InChannelsLast(RandomTensor(DType::kFloat32, {2, 5, 3, 7})));
}

TEST_CASE("channels-last images, and scales of the last axis in memory") {
  const Tensor x = InChannelsLast(RandomTensor(DType::kUint8, {2, 5, 3, 7}, Values::kPlain, 100));
  CHECK(RunBoth({.node = "y = DequantizeLinear(a, b)",
                 .inputs = {x, Tensor::Scalar(0.25f)},
                 .outputs = {DType::kFloat32},
                 .relative = 0}) == "");
  CHECK(RunBoth({.node = "y = DequantizeLinear(a, b)",
                 .inputs = {x, RandomTensor(DType::kFloat32, {5}, Values::kPositive)},
                 .outputs = {DType::kFloat32},
                 .relative = 0,
                 .family = "reference"}) == "");
}

}  // namespace
}  // namespace amp
