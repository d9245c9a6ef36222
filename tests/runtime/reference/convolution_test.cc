// Convolutions and pooling: pads that follow from other attributes, images without elements, windows that do not fit.
#include "absl/strings/match.h"
#include "tests/catch2.h"
#include "tests/runtime/run_text.h"

TEST_CASE("SAME pads put what is odd at the end or at the beginning") {
  const std::string given = "float[1,1,4] x = {1, 2, 3, 4}, float[1,1,2] w = {1, 10}";
  CHECK(Computed({.given = given, .node = "y = Conv<auto_pad = \"SAME_UPPER\">(x, w)", .output = "float[1,1,4]"}) ==
        "float32[1,1,4]: 21 32 43 4");
  CHECK(Computed({.given = given, .node = "y = Conv<auto_pad = \"SAME_LOWER\">(x, w)", .output = "float[1,1,4]"}) ==
        "float32[1,1,4]: 10 21 32 43");
}

TEST_CASE("ConvTranspose with SAME cuts, but adds nothing, as in ONNX's shape inference") {
  const std::string given = "float[1,1,2] x = {1, 2}, float[1,1,1] w = {1}, float[1,1,3] v = {1, 10, 100}";
  const auto transposed = [&](const std::string& attributes, const std::string& inputs, const std::string& output) {
    return Computed({.given = given, .node = "y = ConvTranspose<" + attributes + ">" + inputs, .output = output});
  };
  CHECK(transposed("auto_pad = \"SAME_UPPER\", strides = [2]", "(x, w)", "float[1,1,3]") == "float32[1,1,3]: 1 0 2");
  CHECK(transposed("auto_pad = \"SAME_UPPER\", strides = [2]", "(x, v)", "float[1,1,4]") ==
        "float32[1,1,4]: 1 10 102 20");
  CHECK(transposed("auto_pad = \"SAME_LOWER\", strides = [2]", "(x, v)", "float[1,1,4]") ==
        "float32[1,1,4]: 10 102 20 200");
  CHECK(transposed("output_shape = [4], strides = [2]", "(x, v)", "float[1,1,4]") == "float32[1,1,4]: 10 102 20 200");
  CHECK(transposed("output_shape = [7], strides = [2]", "(x, v)", "float[1,1,7]") ==
        "float32[1,1,7]: 1 10 102 20 200 0 0");
}

TEST_CASE("the convolution of an image without elements is what the pads and the bias give") {
  CHECK(Computed({.given = "float[1,1,0] x = {}, float[1,1,1] w = {5}, float[1] b = {3}",
                  .node = "y = Conv<pads = [1, 1]>(x, w, b)",
                  .output = "float[1,1,2]"}) == "float32[1,1,2]: 3 3");
}

TEST_CASE("what does not fit a convolution is an error") {
  const std::string given = "float[1,2,2] x = {1, 2, 3, 4}, float[2,1,3] w = {1, 2, 3, 4, 5, 6}";
  const auto error = [&](const std::string& attributes) {
    return Computed({.given = given, .node = "y = Conv<" + attributes + ">(x, w)", .output = "float[N,M,L]"});
  };
  CHECK(absl::StrContains(error("group = 2"), "expected a window within 2 elements"));
  CHECK(absl::StrContains(error("group = 3, pads = [1, 1]"), "expected a divisor of 2 channels, found 3"));
  CHECK(absl::StrContains(error("group = 1, pads = [1, 1]"), "expected W [M, C / group, ..]"));
  CHECK(absl::StrContains(error("group = 2, pads = [1]"), "pads: expected"));
  CHECK(absl::StrContains(error("group = 2, pads = [9223372036854775807, 1]"), "pads: expected"));
}

TEST_CASE("pooling: the last window of ceil_mode does not begin in the padding") {
  CHECK(Computed({.given = "float[1,1,3] x = {1, 2, 3}",
                  .node = "y = AveragePool<kernel_shape = [2], strides = [2], pads = [1, 1], ceil_mode = 1>(x)",
                  .output = "float[1,1,2]"}) == "float32[1,1,2]: 1 2.5");
  CHECK(Computed({.given = "float[1,1,3] x = {1, 2, 3}",
                  .node = "y = AveragePool<kernel_shape = [2], strides = [2], pads = [1, 0], ceil_mode = 1, "
                          "count_include_pad = 1>(x)",
                  .output = "float[1,1,2]"}) == "float32[1,1,2]: 0.5 2.5");
}

TEST_CASE("a window that hangs over a small image by less than a stride is cut off") {
  const auto pooled = [&](const std::string& node) {
    return Computed(
        {.given = "float[1,1,1,4] x = {1, 2, 3, 5}", .node = "y = " + node + "(x)", .output = "float[1,1,1,2]"});
  };
  CHECK(pooled("MaxPool<kernel_shape = [2, 2], strides = [2, 2]>") == "float32[1,1,1,2]: 2 5");
  CHECK(pooled("AveragePool<kernel_shape = [2, 2], strides = [2, 2]>") == "float32[1,1,1,2]: 1.5 4");
  CHECK(absl::StrContains(pooled("MaxPool<kernel_shape = [2, 2], strides = [1, 2]>"),
                          "expected a window within 1 elements"));
}

TEST_CASE("indices of MaxPool count by columns where they are asked to") {
  const std::string given = "float[1,2,2,3] x = {1, 9, 3, 4, 5, 6, 7, 8, 0, 1, 2, 3}";
  CHECK(Computed({.given = given, .node = "z, y = MaxPool<kernel_shape = [2, 3]>(x)", .output = "int64[1,2,1,1]"}) ==
        "int64[1,2,1,1]: 1 7");
  CHECK(Computed({.given = given,
                  .node = "z, y = MaxPool<kernel_shape = [2, 3], storage_order = 1>(x)",
                  .output = "int64[1,2,1,1]"}) == "int64[1,2,1,1]: 2 8");
}

TEST_CASE("an index beyond the unpooled tensor is an error") {
  CHECK(absl::StrContains(Computed({.given = "float[1,1,1] x = {1}, int64[1,1,1] i = {2}",
                                    .node = "y = MaxUnpool<kernel_shape = [2]>(x, i)",
                                    .output = "float[1,1,2]"}),
                          "expected indices in [0, 2), found 2"));
}
