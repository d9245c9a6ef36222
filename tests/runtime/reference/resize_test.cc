// Resize, Upsample, GridSample: old versions, types and sizes that ONNX's own cases leave out, and what is refused.
#include "absl/strings/match.h"
#include "tests/catch2.h"
#include "tests/runtime/run_text.h"

namespace {

std::string Resized(const std::string& attributes, const std::string& given, const std::string& inputs,
                    const std::string& output, int opset = 19) {
  return Computed(
      {.opset = opset, .given = given, .node = "y = Resize" + attributes + "(" + inputs + ")", .output = output});
}

}  // namespace

TEST_CASE("Resize-10 and Upsample round down where they enlarge, up where they shrink") {
  const std::string x = "float[4] x = {0, 1, 2, 3}, float[1] s = ";
  CHECK(Resized("", x + "{1.5}", "x, s", "float[6]", 10) == "float32[6]: 0 0 1 2 2 3");
  CHECK(Resized("", x + "{0.6}", "x, s", "float[2]", 10) == "float32[2]: 0 2");
  CHECK(Computed({.opset = 9, .given = x + "{1.5}", .node = "y = Upsample(x, s)", .output = "float[6]"}) ==
        "float32[6]: 0 0 1 2 2 3");
  CHECK(Computed({.opset = 7, .given = x + "{1}", .node = "y = Upsample<scales = [1.5]>(x)", .output = "float[6]"}) ==
        "float32[6]: 0 0 1 2 2 3");
  CHECK(Computed({.opset = 6,
                  .given = "float[1,1,1,2] x = {1, 2}",
                  .node = "y = Upsample<height_scale = 2.0, width_scale = 2.0, mode = \"bilinear\">(x)",
                  .output = "float[1,1,2,4]"}) == "float32[1,1,2,4]: 1 1.5 2 2 1 1.5 2 2");
}

TEST_CASE("a scale is the float32 that it was written as: 3 / 0.6 is 5") {
  CHECK(Resized("<coordinate_transformation_mode = \"asymmetric\", nearest_mode = \"floor\">",
                "float[7] x = {0, 1, 2, 3, 4, 5, 6}, float[1] s = {0.6}", "x, , s",
                "float[4]") == "float32[4]: 0 1 3 5");
}

TEST_CASE("positions are exact where sizes are stated") {
  CHECK(Resized("<nearest_mode = \"floor\">", "float[7] x = {0, 1, 2, 3, 4, 5, 6}, int64[1] n = {1}", "x, , , n",
                "float[1]") == "float32[1]: 3");
}

TEST_CASE("nearest elements are moved, whatever they are") {
  CHECK(Resized("", "string[2] x = {\"a\", \"b\"}, int64[1] n = {4}", "x, , , n", "string[4]") == "string[4]: a a b b");
  CHECK(Resized("", "bool[2] x = {1, 0}, int64[1] n = {4}", "x, , , n", "bool[4]") == "bool[4]: 1 1 0 0");
}

TEST_CASE("sums of integers are rounded, and held within the type") {
  CHECK(Resized("<mode = \"cubic\">", "uint8[4] x = {0, 255, 255, 0}, int64[1] n = {8}", "x, , , n", "uint8[8]") ==
        "uint8[8]: 0 58 197 255 255 197 58 0");
}

TEST_CASE("axes that are not resized stay, and none are resized of nothing") {
  CHECK(Resized("<coordinate_transformation_mode = \"tf_half_pixel_for_nn\", nearest_mode = \"ceil\">",
                "float[2,2] x = {1, 2, 3, 4}, float[0] none = {}, int64[2] n = {2, 1}", "x, none, none, n",
                "float[2,1]", 11) == "float32[2,1]: 2 4");
  CHECK(Resized("", "float[0,2] x = {}, float[2] s = {2, 2}", "x, , s", "float[0,4]") == "float32[0,4]:");
}

TEST_CASE("what Resize cannot do is an error") {
  const auto fails = [](const std::string& attributes, const std::string& given, const std::string& inputs,
                        const std::string& what) {
    const std::string y = Resized(attributes, "float[2] x = {1, 2}, " + given, inputs, "float[n]");
    INFO(y);
    CHECK(absl::StrContains(y, what));
  };
  fails("", "float[1] s = {0}", "x, , s", "expected scales greater than 0, found 0");
  fails("", "float[1] s = {1e30}", "x, , s", "expected at most");
  fails("", "float[2] s = {1, 1}", "x, , s", "scales: expected 1 values, found 2");
  fails("", "float[1] s = {1}, int64[1] n = {1}", "x, , s, n", "found both");
  fails("", "int64[1] n = {-1}", "x, , , n", "expected sizes in");
  fails("<axes = [3]>", "int64[1] n = {1}", "x, , , n", "expected an axis in");
  fails("<mode = \"tricubic\">", "int64[1] n = {1}", "x, , , n", "no kernel for mode 'tricubic'");
  fails("<coordinate_transformation_mode = \"tf_crop_and_resize\">", "int64[1] n = {1}", "x, , , n", "expected a roi");
}

TEST_CASE("grid points far away, at no place, and on an image of one element") {
  const std::string given = "string[1,1,1] x = {\"a\"}, float[1,3,1] grid = {0, 1e30, -1e30}";
  CHECK(Computed({.given = given, .node = "y = GridSample<mode = \"nearest\">(x, grid)", .output = "string[1,1,3]"}) ==
        "string[1,1,3]: a  ");
  CHECK(
      Computed({.given = given,
                .node = "y = GridSample<mode = \"nearest\", padding_mode = \"reflection\", align_corners = 1>(x, grid)",
                .output = "string[1,1,3]"}) == "string[1,1,3]: a a a");
  CHECK(Computed({.given = "float[1,1,2] x = {3, 5}, float[1,1,1] grid = {nan}",
                  .node = "y = GridSample(x, grid)",
                  .output = "float[1,1,1]"}) == "float32[1,1,1]: 0");
  CHECK(absl::StrContains(Computed({.given = "float[1,1,2] x = {3, 5}, float[1,1,2] grid = {0, 0}",
                                    .node = "y = GridSample(x, grid)",
                                    .output = "float[1,1,1]"}),
                          "expected X[N,C,D...] and grid[N,...,r]"));
}
