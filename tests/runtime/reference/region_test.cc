// Regions, boxes and spectra: what ONNX's own cases leave out, and what is refused.
#include "absl/strings/match.h"
#include "tests/catch2.h"
#include "tests/runtime/run_text.h"

namespace {

constexpr char kImage[] = "float[1,1,2,2] x = {1, 2, 3, 4}, int64[1] image = {0}";

}  // namespace

TEST_CASE("MaxRoiPool takes whole elements, at least one") {
  CHECK(Computed({.given = std::string(kImage) + ", float[2,5] roi = {0, 0, 0, 1, 1, 0, 1, 0, 0, 0}",
                  .node = "y = MaxRoiPool<pooled_shape = [1, 2]>(x, roi)",
                  .output = "float[2,1,1,2]"}) == "float32[2,1,1,2]: 3 4 2 2");
}

TEST_CASE("regions that cannot be pooled are errors") {
  const auto align = [](const std::string& roi, const std::string& attributes) {
    return Computed({.given = std::string(kImage) + ", float[1,4] roi = {" + roi + "}",
                     .node = "y = RoiAlign" + attributes + "(x, roi, image)",
                     .output = "float[1,1,1,1]"});
  };
  CHECK(absl::StrContains(align("0, 0, 1e30, 1", ""), "points per bin"));
  CHECK(absl::StrContains(align("0, 0, 1, 1", "<output_height = 0>"), "expected an output of at least 1 x 1"));
  CHECK(absl::StrContains(align("0, 0, 1, 1", "<mode = \"sum\">"), "found 'sum'"));
  CHECK(absl::StrContains(Computed({.given = "float[1,1,1,1] x = {1}, float[1,5] roi = {1, 0, 0, 1, 1}",
                                    .node = "y = MaxRoiPool<pooled_shape = [1, 1]>(x, roi)",
                                    .output = "float[1,1,1,1]"}),
                          "expected an image in [0, 1), found 1"));
}

TEST_CASE("boxes: no limit gives none, scores that are no number come last") {
  const auto select = [](const std::string& inputs) {
    return Computed(
        {.given = "float[1,2,4] boxes = {0, 0, 1, 1, 2, 2, 3, 3}, float[1,1,2] scores = {nan, 1}, int64 n = {2}",
         .node = "y = NonMaxSuppression(boxes, scores" + inputs + ")",
         .output = "int64[n,3]"});
  };
  CHECK(select("") == "int64[0,3]:");
  CHECK(select(", n") == "int64[2,3]: 0 0 1 0 0 0");
}

TEST_CASE("spectra of lengths with several prime factors, cut and filled up") {
  const std::string given = "double[1,6,1] x = {1, 0, 0, 0, 0, 0}, int64 three = {3}, int64 seven = {7}";
  const auto dft = [&](const std::string& inputs) {
    return Computed({.given = given, .node = "y = DFT<onesided = 1>(" + inputs + ")", .output = "double[1,n,2]"});
  };
  CHECK(dft("x") == "float64[1,4,2]: 1 0 1 0 1 0 1 0");
  CHECK(dft("x, three") == "float64[1,2,2]: 1 0 1 0");
  CHECK(dft("x, seven") == "float64[1,4,2]: 1 0 1 0 1 0 1 0");
}

TEST_CASE("spectra that cannot be are errors") {
  const auto fails = [](const std::string& node, const std::string& what) {
    const std::string y = Computed({.given = "float[1,4,1] x = {1, 2, 3, 4}, int64 zero = {0}, int64 axis = {2}, "
                                             "int64 nine = {9}, float[2] window = {1, 1}, int64 one = {1}, "
                                             "float low = {0}, float high = {9}",
                                    .node = node,
                                    .output = "float[1,n,2]"});
    INFO(y);
    CHECK(absl::StrContains(y, what));
  };
  fails("y = DFT(x, zero)", "expected a dft_length of at least 1, found 0");
  fails("y = DFT(x, , axis)", "expected an axis of the signal, found the last one: 2");
  fails("y = DFT(x, , nine)", "expected an axis in [-3, 3), found 9");
  fails("y = STFT(x, zero)", "expected a frame_step of at least 1, found 0");
  fails("y = STFT(x, one, , nine)", "expected a frame_length in [1, 4], found 9");
  fails("y = STFT(x, one, window, one)", "expected a window of frame_length 1, found float32[2]");
  fails("y = MelWeightMatrix(nine, nine, zero, low, high)", "a sample_rate of at least 1");
}

TEST_CASE("an STFT takes a real signal without an axis of one part, too") {
  const std::string given = "float[1,4] x = {1, 2, 3, 4}, float[1,4,1] z = {1, 2, 3, 4}, int64 two = {2}";
  const auto transformed = [&](const std::string& signal) {
    return Computed({.given = given, .node = "y = STFT(" + signal + ", two, , two)", .output = "float[1,2,2,2]"});
  };
  CHECK(absl::StrContains(transformed("x"), "float32[1,2,2,2]: 3 0 -1 "));
  CHECK(transformed("x") == transformed("z"));
}
