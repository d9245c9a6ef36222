// Pooling by loops against the reference, in both layouts.
#include "tests/catch2.h"
#include "tests/runtime/loops/run_both.h"

namespace amp {
namespace {

TEST_CASE("windows of all kinds in both layouts") {
  for (const std::string attributes :
       {"kernel_shape = [3,3]", "kernel_shape = [3,3], strides = [2,2], pads = [1,1,1,1]",
        "kernel_shape = [2,3], strides = [2,1], pads = [0,1,1,2], ceil_mode = 1",
        "kernel_shape = [3,2], dilations = [2,3], pads = [2,0,1,3]", "kernel_shape = [1,1], strides = [3,2]",
        "kernel_shape = [3,3], strides = [2,2], auto_pad = \"SAME_UPPER\"", "kernel_shape = [9,13]"}) {
    for (const std::string& more : {std::string(), std::string(", count_include_pad = 1")}) {
      for (const DType dtype : kLoopFloats) {
        if (dtype == DType::kBfloat16) continue;
        const Tensor x = RandomTensor(dtype, {2, 19, 9, 13}, Values::kWithSpecial);
        const Tensor plain = RandomTensor(dtype, {2, 19, 9, 13});
        CHECK(RunBoth({.node = absl::StrCat("y = MaxPool<", attributes, ">(a)"), .inputs = {x}, .opset = 19}) == "");
        CHECK(RunBoth({.node = absl::StrCat("y = MaxPool<", attributes, ">(a)"),
                       .inputs = {InChannelsLast(x)},
                       .opset = 19}) == "");
        const std::string node = absl::StrCat("y = AveragePool<", attributes, more, ">(a)");
        CHECK(RunBoth({.node = node, .inputs = {plain}, .opset = 19, .absolute = 2e-6}) == "");
        CHECK(RunBoth({.node = node, .inputs = {InChannelsLast(plain)}, .opset = 19, .absolute = 2e-6}) == "");
      }
    }
  }
}

TEST_CASE("windows with indices, and of other axes, are for others") {
  const Tensor x = RandomTensor(DType::kFloat32, {2, 3, 9, 13});
  CHECK(RunBoth({.node = "y, z = MaxPool<kernel_shape = [2,2]>(a)",
                 .inputs = {x},
                 .outputs = {DType::kFloat32, DType::kInt64},
                 .family = "reference"}) == "");
  CHECK(RunBoth({.node = "y = AveragePool<kernel_shape = [2]>(a)",
                 .inputs = {RandomTensor(DType::kFloat32, {2, 3, 9})},
                 .absolute = 1e-6,
                 .family = "reference"}) == "");
}

}  // namespace
}  // namespace amp
