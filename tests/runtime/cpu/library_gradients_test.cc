// The gradients of weights that oneDNN computes against the reference kernels: float32 of operands of every type.
#include "runtime/kernel/shape_math.h"
#include "tests/catch2.h"
#include "tests/runtime/cpu/library_case.h"
#include "tests/runtime/run_session.h"

namespace amp {
namespace {

struct Windows {
  Dims x, g;
  std::string attributes;
};

LibraryCase ConvCase(const Windows& windows) {
  const std::string node = absl::StrCat("y = ai.amp.ConvWeightGradient <to = 1, ", windows.attributes, "> (a, b)");
  return {.node = node, .inputs = {windows.x, windows.g}, .gives = DType::kFloat32};
}

TEST_CASE("gradients of a convolution's weights") {
  const Windows all[] = {
      {{2, 3, 8, 9}, {2, 5, 6, 7}, "kernel_shape = [3,3]"},
      {{3, 16, 7, 7}, {3, 32, 7, 7}, "kernel_shape = [3,3], pads = [1,1,1,1]"},
      {{1, 1, 12, 12}, {1, 16, 12, 12}, "kernel_shape = [3,3], pads = [1,1,1,1]"},
      {{5, 6, 9, 11}, {5, 9, 5, 4}, "kernel_shape = [3,2], strides = [2,3], pads = [2,0,1,1], group = 3"},
      {{2, 8, 9, 9}, {2, 8, 9, 9}, "kernel_shape = [3,3], pads = [1,1,1,1], group = 8"},
      {{2, 4, 15, 13}, {2, 6, 11, 7}, "kernel_shape = [3,4], dilations = [2,2]"},
      {{2, 4, 15, 14}, {2, 6, 5, 4}, "kernel_shape = [3,2], dilations = [1,3], strides = [3,3], pads = [0,0,1,1]"},
      {{2, 5, 6, 6}, {2, 7, 6, 6}, "kernel_shape = [1,1]"},
      {{2, 5, 4, 6}, {2, 7, 1, 1}, "kernel_shape = [4,6]"},
      {{2, 3, 17}, {2, 4, 17}, "kernel_shape = [5], pads = [2,2]"},
      {{2, 3, 17, 1}, {2, 4, 9, 1}, "kernel_shape = [3,1], strides = [2,1], pads = [1,0,1,0]"},
      {{2, 2, 5, 6, 7}, {2, 3, 4, 4, 6}, "kernel_shape = [2,3,2]"}};
  for (const Windows& windows : all) {
    INFO(DimsText(windows.x) << " " << windows.attributes);
    CHECK(Families(ConvCase(windows)) == "onednn");
  }
}

TEST_CASE("gradients of weights by images in parts") {
  CHECK(Families(ConvCase({{17, 8, 30, 31}, {17, 12, 30, 31}, "kernel_shape = [3,3], pads = [1,1,1,1]"})) == "onednn");
}

// A transposed convolution's output_padding leaves elements that no window reads.
TEST_CASE("fewer windows than the image has room for") {
  CHECK(Families(ConvCase({{2, 3, 9, 9}, {2, 4, 4, 4}, "kernel_shape = [3,3], strides = [2,2], pads = [0,0,2,2]"})) ==
        "onednn");
  CHECK(Family(ConvCase({{2, 3, 9, 9}, {2, 4, 4, 4}, "kernel_shape = [3,3]"})) == "reference");
}

TEST_CASE("gradients of weights without images are zeros") {
  CHECK(Family(ConvCase({{0, 3, 8, 9}, {0, 5, 6, 7}, "kernel_shape = [3,3]"})) == "reference");
}

TEST_CASE("windows that do not fit are an error") {
  CHECK(Family(ConvCase({{2, 3, 8, 9}, {2, 5, 7, 7}, "kernel_shape = [3,3]"})) ==
        "both: ConvWeightGradient#0 (ai.amp::ConvWeightGradient-1): expected windows within 8 elements and pads of 0 "
        "and 0, found 7 of them");
}

TEST_CASE("gradients of a product's weights") {
  const auto of = [](const Dims& a, const Dims& b, const std::string& attributes) {
    const std::string node = absl::StrCat("y = ai.amp.MatrixWeightGradient <to = 1, ", attributes, "> (a, b)");
    return LibraryCase{.node = node, .inputs = {a, b}, .gives = DType::kFloat32};
  };
  CHECK(Families(of({12, 7}, {12, 9}, "alpha = 1.0, transA = 1, transB = 0")) == "onednn");
  CHECK(Families(of({7, 12}, {12, 9}, "alpha = 0.5, transA = 0, transB = 0")) == "onednn");
  CHECK(Families(of({12, 7}, {9, 12}, "alpha = 2.0, transA = 1, transB = 1")) == "onednn");
  CHECK(Families(of({7, 12}, {9, 12}, "alpha = 1.0, transA = 0, transB = 1")) == "onednn");
  CHECK(Families(of({520, 300}, {520, 600}, "alpha = 1.0, transA = 1, transB = 0")) == "onednn");
  CHECK(Family(of({0, 7}, {0, 9}, "alpha = 1.0, transA = 1, transB = 0")) == "reference");
  CHECK_THAT(Family({.node = "y = ai.amp.MatrixWeightGradient <to = 1, transA = 1> (a, b, c)",
                     .inputs = {{5, 3}, {5, 4}, {5, 3}},
                     .gives = DType::kFloat32}),
             Catch::Matchers::StartsWith("both: ") && Catch::Matchers::Contains("expected C that broadcasts"));
}

}  // namespace
}  // namespace amp
