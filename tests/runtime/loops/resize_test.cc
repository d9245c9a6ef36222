// Resizing by loops against the reference, in both layouts.
#include "tests/catch2.h"
#include "tests/runtime/loops/run_both.h"

namespace amp {
namespace {

Tensor Floats(const std::vector<float>& numbers) {
  return Tensor::Of<float>(DType::kFloat32, {static_cast<int64_t>(numbers.size())}, numbers);
}

TEST_CASE("linear and cubic, of all coordinates, larger and smaller, in both layouts") {
  for (const std::string mode : {"linear", "cubic"}) {
    for (const std::string coordinates :
         {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric"}) {
      for (const std::string more : {"", ", antialias = 1", ", exclude_outside = 1", ", cubic_coeff_a = -0.5"}) {
        for (const auto& scales : {std::vector<float>{1, 1, 2, 2}, {1, 1, 0.4f, 3.3f}, {1, 1, 1, 0.5f}, {1, 1, 1, 1}}) {
          const std::string node = absl::StrCat("y = Resize<mode = \"", mode, "\", coordinate_transformation_mode = \"",
                                                coordinates, "\"", more, ">(a, , b)");
          const Tensor x = RandomTensor(DType::kFloat32, {2, 19, 5, 7});
          INFO(node);
          CHECK(RunBoth({.node = node, .inputs = {x, Floats(scales)}, .relative = 1e-5, .absolute = 2e-5}) == "");
          CHECK(
              RunBoth(
                  {.node = node, .inputs = {InChannelsLast(x), Floats(scales)}, .relative = 1e-5, .absolute = 2e-5}) ==
              "");
        }
      }
    }
  }
}

TEST_CASE("all types, all axes, sizes, one element") {
  const Tensor sizes = Tensor::OfInts({3, 1, 9});
  for (const DType dtype : kLoopFloats) {
    for (const Dims& dims : {Dims{1, 1, 1}, Dims{2, 3, 300}, Dims{7, 2, 1}}) {
      CHECK(RunBoth({.node = "y = Resize<mode = \"linear\">(a, , , b)",
                     .inputs = {RandomTensor(dtype, dims), sizes},
                     .absolute = 1e-5}) == "");
    }
    CHECK(RunBoth({.node = "y = Resize<mode = \"linear\", axes = [-1]>(a, , b)",
                   .inputs = {RandomTensor(dtype, {3, 40}), Floats({1.7f})},
                   .absolute = 1e-5}) == "");
    CHECK(RunBoth({.node = "y = Upsample<mode = \"linear\">(a, b)",
                   .inputs = {RandomTensor(dtype, {2, 3, 4, 5}), Floats({1, 1, 2, 3})},
                   .opset = 9,
                   .absolute = 1e-5}) == "");
  }
}

TEST_CASE("what is moved, lies beyond the input, or has no elements is for others") {
  const Tensor x = RandomTensor(DType::kFloat32, {1, 2, 4, 4});
  const auto family = [](const std::string& attributes, const std::vector<Tensor>& inputs) {
    return RunBoth({.node = "y = Resize<" + attributes + ">(a, " + (inputs.size() == 3 ? "c" : "") + ", b)",
                    .inputs = inputs,
                    .absolute = 1e-5,
                    .family = "reference"});
  };
  CHECK(family("mode = \"nearest\"", {x, Floats({1, 1, 2, 2})}) == "");
  CHECK(family("mode = \"linear\", coordinate_transformation_mode = \"tf_crop_and_resize\"",
               {x, Floats({1, 1, 2, 2}), Floats({0, 0, 0.2f, 0.1f, 1, 1, 1.5f, 0.9f})}) == "");
  CHECK(family("mode = \"linear\"", {RandomTensor(DType::kFloat32, {0, 2, 4, 4}), Floats({1, 1, 2, 2})}) == "");
  CHECK(family("mode = \"linear\"", {x, Floats({1, 1, 0.1f, 2})}) == "");
}

TEST_CASE("GridSample: all paddings, points beyond the image, not a number, one and three axes") {
  const std::pair<Dims, Dims> shapes[] = {{{2, 3, 5, 7}, {2, 4, 6, 2}},
                                          {{1, 2, 1, 1}, {1, 3, 3, 2}},
                                          {{2, 1, 30}, {2, 2000, 1}},
                                          {{1, 2, 3, 4, 5}, {1, 3, 3, 90, 3}}};
  for (const std::string mode : {"linear", "cubic"}) {
    for (const std::string padding : {"zeros", "border", "reflection"}) {
      for (const auto& [x, grid] : shapes) {
        for (const DType dtype : kLoopFloats) {
          const std::string node = absl::StrCat("y = GridSample<mode = \"", mode, "\", padding_mode = \"", padding,
                                                "\", align_corners = ", x.size() % 2, ">(a, b)");
          const Tensor image = RandomTensor(dtype, x);
          const BothCase each = {
              .node = node, .inputs = {image, RandomTensor(dtype, grid, Values::kPlain, 1)}, .opset = 22};
          BothCase near = each, far = each;
          near.absolute = far.absolute = 2e-5;
          far.inputs[1] = RandomTensor(dtype, grid, Values::kWithSpecial, 1);
          CHECK(RunBoth(near) == "");
          CHECK(RunBoth(far) == "");
        }
      }
    }
  }
  CHECK(RunBoth({.node = "y = GridSample<mode = \"nearest\">(a, b)",
                 .inputs = {RandomTensor(DType::kFloat32, {1, 2, 4, 4}), RandomTensor(DType::kFloat32, {1, 3, 3, 2})},
                 .opset = 22,
                 .family = "reference"}) == "");
}

}  // namespace
}  // namespace amp
