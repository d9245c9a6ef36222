// Kernels of a device in which threads share a row, and pools, against the reference.
#include <cmath>

#include "absl/strings/str_cat.h"
#include "tests/catch2.h"
#include "tests/runtime/device/run_on_device.h"

namespace amp {
namespace {

using Catch::Matchers::Contains;

TEST_CASE("device: reductions along any axes") {
  for (const std::string op : {"ReduceL1", "ReduceL2", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin",
                               "ReduceSum", "ReduceSumSquare"}) {
    for (const std::vector<int64_t>& axes :
         {std::vector<int64_t>{0}, {1}, {-1}, {0, 2}, {1, 2}, {0, 1, 2, 3}, std::vector<int64_t>{}}) {
      const Tensor list = Tensor::OfInts(axes);
      for (const DType dtype : kLoopFloats) {
        const Tensor x = RandomTensor(dtype, {3, 4, 7, 5});
        for (const std::string keepdims : {"0", "1"}) {
          CHECK(RunOnDevice({.node = absl::StrCat("y = ", op, "<keepdims = ", keepdims, ">(a, b)"),
                             .inputs = {x, list},
                             .relative = 1e-5,
                             .absolute = 1e-5}) == "");
        }
      }
    }
  }
  const Tensor positive = RandomTensor(DType::kFloat32, {50, 60}, Values::kPositive);
  CHECK(RunOnDevice({.node = "y = ReduceLogSum(a)", .inputs = {positive}, .opset = 13}) == "");
  CHECK(RunOnDevice({.node = "y = ReduceSum(a)", .inputs = {RandomTensor(DType::kFloat32, {})}}) == "");
}

TEST_CASE("device: sums and means of many rows") {
  for (const DType dtype : kLoopFloats) {
    for (const Dims& dims : {Dims{257, 5}, Dims{9, 70, 3, 7}, Dims{2000, 2}, Dims{300, 24}}) {  // 24: whole packs
      const Tensor axes = dims.size() == 2 ? Tensor::OfInts({0}) : Tensor::OfInts({0, 1});
      for (const std::string op : {"ReduceSum", "ReduceMean"}) {
        CHECK(RunOnDevice({.node = "y = " + op + " <keepdims = 0> (a, b)",
                           .inputs = {RandomTensor(dtype, dims), axes},
                           .relative = 1e-5,
                           .absolute = 1e-3}) == "");
      }
    }
  }
}

TEST_CASE("device: reductions of special numbers") {
  Tensor x = RandomTensor(DType::kFloat32, {200, 9}, Values::kWithSpecial);
  for (float& element : x.mutable_elements<float>()) {
    if (std::isfinite(element) && std::fabs(element) > 1e37f)
      element /= 16;  // else sums overflow, the reference's do not
  }
  for (const std::string op : {"ReduceMax", "ReduceMin", "ReduceSum", "ReduceLogSumExp"}) {
    const BothCase each = {.node = "y = " + op + "<axes = [1]>(a)", .inputs = {x}, .opset = 11, .absolute = 1e-5};
    CHECK(RunOnDevice(each) == "");
  }
}

TEST_CASE("device: global pools, softmax along any axis") {
  for (const DType dtype : kLoopFloats) {
    const Tensor x = RandomTensor(dtype, {2, 6, 9, 5});
    CHECK(RunOnDevice({.node = "y = GlobalAveragePool(a)", .inputs = {x}, .absolute = 1e-6}) == "");
    CHECK(RunOnDevice({.node = "y = GlobalMaxPool(a)", .inputs = {x}}) == "");
    for (const std::string axis : {"0", "1", "-1"}) {
      CHECK(RunOnDevice({.node = "y = Softmax<axis = " + axis + ">(a)", .inputs = {x}}) == "");
      CHECK(RunOnDevice({.node = "y = LogSoftmax<axis = " + axis + ">(a)", .inputs = {x}, .absolute = 1e-6}) == "");
      if (dtype == DType::kBfloat16) continue;  // not before opset 13
      CHECK(RunOnDevice({.node = "y = Softmax<axis = " + axis + ">(a)", .inputs = {x}, .opset = 11}) == "");
    }
  }
  const Tensor special = RandomTensor(DType::kFloat32, {40, 6}, Values::kWithSpecial);
  CHECK(RunOnDevice({.node = "y = Softmax(a)", .inputs = {special}}) == "");
}

TEST_CASE("device: layer norms, with statistics for who reads them") {
  for (const DType dtype : kLoopFloats) {
    const Tensor x = RandomTensor(dtype, {4, 3, 50}), scale = RandomTensor(dtype, {50}),
                 bias = RandomTensor(dtype, {50});
    CHECK(RunOnDevice({.node = "y, z, w = LayerNormalization(a, b, c)",
                       .inputs = {x, scale, bias},
                       .outputs = {dtype, DType::kFloat32, DType::kFloat32},
                       .relative = 1e-5,
                       .absolute = 1e-5}) == "");
    const Tensor wide = RandomTensor(dtype, {3, 50});
    CHECK(RunOnDevice({.node = "y = LayerNormalization<axis = 1>(a, b)",
                       .inputs = {x, wide},
                       .relative = 1e-5,
                       .absolute = 1e-5}) == "");
    CHECK(RunOnDevice({.node = "y = RMSNormalization(a, b)",
                       .inputs = {x, scale},
                       .opset = 23,
                       .relative = 1e-5,
                       .absolute = 1e-5}) == "");
  }
  const Tensor x = RandomTensor(DType::kFloat32, {4, 50}), other = RandomTensor(DType::kFloat32, {4, 50});
  CHECK_THAT(WhyOnHost({.node = "y = LayerNormalization(a, b)", .inputs = {x, other}}),
             Contains("an operand of another shape"));
}

TEST_CASE("device: layer norms of rows that are whole packs") {
  for (const DType dtype : kLoopFloats) {
    for (const int64_t size : {int64_t{8}, int64_t{48}, int64_t{1024}, int64_t{4104}}) {
      const Tensor x = RandomTensor(dtype, {5, size}), scale = RandomTensor(dtype, {size}),
                   bias = RandomTensor(dtype, {size});
      CHECK(RunOnDevice({.node = "y, z, w = LayerNormalization(a, b, c)",
                         .inputs = {x, scale, bias},
                         .outputs = {dtype, DType::kFloat32, DType::kFloat32},
                         .relative = 1e-5,
                         .absolute = 1e-5}) == "");
      CHECK(RunOnDevice({.node = "y = RMSNormalization(a, b)",
                         .inputs = {x, scale},
                         .opset = 23,
                         .relative = 1e-5,
                         .absolute = 1e-5}) == "");
    }
  }
}

TEST_CASE("device: norms of channels") {
  for (const DType dtype : kLoopFloats) {
    const Tensor x = RandomTensor(dtype, {2, 6, 5, 4}), scale = RandomTensor(dtype, {6}),
                 bias = RandomTensor(dtype, {6});
    const Tensor mean = RandomTensor(dtype, {6}), variance = RandomTensor(dtype, {6}, Values::kPositive);
    CHECK(RunOnDevice({.node = "y = InstanceNormalization(a, b, c)",
                       .inputs = {x, scale, bias},
                       .opset = 22,
                       .relative = 1e-5,
                       .absolute = 1e-5}) == "");
    CHECK(RunOnDevice({.node = "y = GroupNormalization<num_groups = 3>(a, b, c)",
                       .inputs = {x, scale, bias},
                       .relative = 1e-5,
                       .absolute = 1e-5}) == "");
    CHECK(RunOnDevice({.node = "y = BatchNormalization(a, b, c, d, e)",
                       .inputs = {x, scale, bias, mean, variance},
                       .relative = 1e-5,
                       .absolute = 1e-5}) == "");
  }
}

TEST_CASE("device: pools of one to three axes") {
  const std::vector<std::pair<Dims, std::string>> windows = {
      {{2, 3, 11}, "kernel_shape = [3], strides = [2]"},
      {{2, 3, 9, 8}, "kernel_shape = [3, 2], strides = [2, 1], pads = [1, 0, 1, 1]"},
      {{2, 3, 9, 8}, "kernel_shape = [2, 2], dilations = [2, 3], pads = [1, 1, 1, 1]"},
      {{2, 3, 9, 8}, "kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1], ceil_mode = 1"},
      {{2, 3, 7, 6}, "kernel_shape = [3, 3], auto_pad = \"SAME_LOWER\", strides = [2, 2]"},
      {{1, 2, 5, 6, 7}, "kernel_shape = [2, 3, 2], strides = [1, 2, 2], pads = [1, 1, 0, 0, 1, 1]"}};
  for (const auto& [dims, window] : windows) {
    for (const DType dtype : kLoopFloats) {
      const Tensor x = RandomTensor(dtype, dims);
      CHECK(RunOnDevice({.node = "y = MaxPool<" + window + ">(a)", .inputs = {x}, .opset = 22}) == "");
      for (const std::string counts : {"0", "1"}) {
        CHECK(RunOnDevice({.node = absl::StrCat("y = AveragePool<count_include_pad = ", counts, ", ", window, ">(a)"),
                           .inputs = {x},
                           .opset = 22,
                           .absolute = 1e-6}) == "");
      }
    }
  }
  const Tensor special = RandomTensor(DType::kFloat32, {1, 1, 30, 30}, Values::kWithSpecial);
  CHECK(RunOnDevice({.node = "y = MaxPool<kernel_shape = [2, 2]>(a)", .inputs = {special}, .opset = 12}) == "");
}

}  // namespace
}  // namespace amp
