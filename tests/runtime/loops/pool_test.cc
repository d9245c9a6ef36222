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

TEST_CASE("windows of one and of three axes") {
  const Dims line = {2, 5, 41}, volume = {2, 3, 6, 7, 9}, column = {1, 3, 17, 1};
  const std::pair<Dims, std::string> cases[] = {
      {line, "kernel_shape = [3]"},
      {line, "kernel_shape = [4], strides = [3], pads = [2,3], ceil_mode = 1"},
      {line, "kernel_shape = [3], dilations = [7], pads = [14,1]"},
      {line, "kernel_shape = [41]"},
      {line, "kernel_shape = [2], strides = [50]"},
      {line, "kernel_shape = [43], strides = [3]"},
      {line, "kernel_shape = [41], strides = [41]"},
      {line, "kernel_shape = [1], strides = [40]"},
      {line, "kernel_shape = [5], strides = [5], dilations = [2], pads = [4,4]"},
      {line, "kernel_shape = [3], strides = [1000000000]"},
      {volume, "kernel_shape = [2,3,2], strides = [1,2,2], pads = [1,0,1,0,2,0]"},
      {volume, "kernel_shape = [2,2,3], dilations = [3,2,1], pads = [2,1,1,1,1,2]"},
      {volume, "kernel_shape = [6,7,9]"},
      {column, "kernel_shape = [4,1], strides = [2,1]"}};
  for (const auto& [dims, attributes] : cases) {
    INFO(attributes);
    for (const DType dtype : kLoopFloats) {
      const Tensor x = RandomTensor(dtype, dims, Values::kWithSpecial), plain = RandomTensor(dtype, dims);
      for (const bool last : {false, true}) {
        const auto in_layout = [&](const Tensor& tensor) { return last ? InChannelsLast(tensor) : tensor; };
        CHECK(RunBoth({.node = absl::StrCat("y = MaxPool<", attributes, ">(a)"), .inputs = {in_layout(x)}}) == "");
        for (const std::string more : {"", ", count_include_pad = 1"}) {
          CHECK(RunBoth({.node = absl::StrCat("y = AveragePool<", attributes, more, ">(a)"),
                         .inputs = {in_layout(plain)},
                         .absolute = 2e-6}) == "");
        }
      }
    }
  }
}

TEST_CASE("windows with indices: equal elements, not a number, nothing but padding") {
  const std::pair<Dims, std::string> cases[] = {
      {{2, 3, 9, 13}, "kernel_shape = [2,2], strides = [2,2]"},
      {{2, 3, 9, 13}, "kernel_shape = [3,2], pads = [2,1,2,1], strides = [1,3], ceil_mode = 1"},
      {{2, 3, 9, 13}, "kernel_shape = [2,2], dilations = [5,12], pads = [0,6,3,6]"},
      {{1, 2, 4, 4}, "kernel_shape = [2,2], dilations = [9,9], pads = [9,9,9,9]"},
      {{1, 1, 1, 1}, "kernel_shape = [1,1]"},
      {{2, 3, 19}, "kernel_shape = [4], strides = [3], pads = [3,3]"},
      {{2, 2, 4, 5, 6}, "kernel_shape = [2,2,2], strides = [1,2,1]"}};
  for (const auto& [dims, attributes] : cases) {
    for (const DType dtype : kLoopFloats) {
      const std::vector<DType> outputs = {dtype, DType::kInt64};
      const std::string node = absl::StrCat("y, z = MaxPool<", attributes, ">(a)");
      INFO(node);
      Tensor equal = RandomTensor(dtype, dims, Values::kPlain, 0);
      for (const Tensor& x : {RandomTensor(dtype, dims, Values::kWithSpecial), RandomTensor(dtype, dims), equal}) {
        CHECK(RunBoth({.node = node, .inputs = {x}, .outputs = outputs}) == "");
        CHECK(RunBoth({.node = node, .inputs = {InChannelsLast(x)}, .outputs = outputs}) == "");
      }
    }
  }
}

TEST_CASE("Col2Im: strides, dilations, padding, one and three axes") {
  struct Columns {
    Dims x;
    std::vector<int64_t> image, block;
    std::string attributes;
  };
  const Columns cases[] = {{{2, 3 * 6, 5 * 6}, {6, 8}, {2, 3}, ""},
                           {{1, 2 * 9, 8 * 8}, {8, 8}, {3, 3}, "<pads = [1,1,1,1]>"},
                           {{2, 4, 3 * 4}, {6, 8}, {2, 2}, "<strides = [2,2]>"},
                           {{1, 6, 2 * 4}, {6, 11}, {2, 3}, "<strides = [3,2], dilations = [3,2], pads = [0,1,1,0]>"},
                           {{1, 5 * 4, 9}, {7}, {4}, "<pads = [3,2]>"},
                           {{2, 3 * 8, 2 * 3 * 4}, {3, 4, 5}, {2, 2, 2}, ""}};
  for (const Columns& each : cases) {
    for (const DType dtype : kLoopFloats) {
      CHECK(RunBoth({.node = "y = Col2Im" + each.attributes + "(a, b, c)",
                     .inputs = {RandomTensor(dtype, each.x), Tensor::OfInts(each.image), Tensor::OfInts(each.block)},
                     .absolute = 1e-6}) == "");
    }
  }
}

TEST_CASE("indices that count columns first are for others") {
  CHECK(RunBoth({.node = "y, z = MaxPool<kernel_shape = [2,2], storage_order = 1>(a)",
                 .inputs = {RandomTensor(DType::kFloat32, {2, 3, 9, 13})},
                 .outputs = {DType::kFloat32, DType::kInt64},
                 .family = "reference"}) == "");
}

}  // namespace
}  // namespace amp
