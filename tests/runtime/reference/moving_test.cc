// Operators that move elements: what ONNX's own cases leave out, and what they refuse.
#include <limits>

#include "absl/strings/match.h"
#include "runtime/kernel/shape_math.h"
#include "tests/catch2.h"
#include "tests/runtime/run_text.h"

namespace {

struct Refusal {
  int opset;
  const char* given;
  const char* node;
  const char* error;
};

void CheckRefused(const std::vector<Refusal>& refusals) {
  for (const Refusal& refusal : refusals) {
    CAPTURE(refusal.node);
    const std::string found =
        Computed({.opset = refusal.opset, .given = refusal.given, .node = refusal.node, .output = "float[N]"});
    CAPTURE(found);
    CHECK(absl::StartsWith(found, "error: "));
    CHECK(absl::StrContains(found, refusal.error));
  }
}

constexpr const char* kMatrix = "float[2,3] x = {1, 2, 3, 4, 5, 6}";

}  // namespace

TEST_CASE("first versions of Split, Tile and Concat") {
  CHECK(Computed({.opset = 1,
                  .given = "float[3] x = {1, 2, 3}, float[2] sizes = {1, 2}",
                  .node = "first, y = Split <axis = 0> (x, sizes)",
                  .output = "float[2]"}) == "float32[2]: 2 3");
  CHECK(Computed({.opset = 1,
                  .given = "float[1,2] x = {1, 2}, float tiles = {2}, float axis = {0}",
                  .node = "y = Tile(x, tiles, axis)",
                  .output = "float[2,2]"}) == "float32[2,2]: 1 2 1 2");
  CHECK(Computed({.opset = 1, .given = "float[2,1] x = {1, 2}", .node = "y = Concat(x, x)", .output = "float[2,2]"}) ==
        "float32[2,2]: 1 1 2 2");
}

TEST_CASE("Slice takes the ends of the integers for the ends of an axis") {
  const auto slice = [](int64_t start, int64_t end, int64_t step) {
    const std::string given = absl::StrCat("int32[4] x = {1, 2, 3, 4}, int64[1] start = {", start,
                                           "}, int64[1] end = {", end, "}, int64[1] step = {", step, "}");
    return Computed({.given = given + ", int64[1] axis = {0}",
                     .node = "y = Slice(x, start, end, axis, step)",
                     .output = "int32[N]"});
  };
  constexpr int64_t kLowest = std::numeric_limits<int64_t>::min(), kHighest = std::numeric_limits<int64_t>::max();
  CHECK(slice(kLowest, kHighest, 1) == "int32[4]: 1 2 3 4");
  CHECK(slice(kHighest, kLowest, -1) == "int32[4]: 4 3 2 1");
  CHECK(slice(1, kHighest, kHighest) == "int32[1]: 2");
  CHECK(slice(2, kLowest, kLowest) == "int32[1]: 3");
  CHECK(slice(kLowest, kLowest, -1) == "int32[1]: 1");
  CHECK(slice(3, 1, 1) == "int32[0]:");
}

TEST_CASE("Pad cuts first, and goes round as often as it takes") {
  const auto pad = [](const std::string& mode, int before, int after) {
    const std::string given = absl::StrCat("int8[3] x = {1, 2, 3}, int64[2] pads = {", before, ", ", after, "}");
    return Computed({.given = given, .node = "y = Pad <mode = \"" + mode + "\"> (x, pads)", .output = "int8[N]"});
  };
  CHECK(pad("reflect", 5, 5) == "int8[13]: 2 1 2 3 2 1 2 3 2 1 2 3 2");
  CHECK(pad("wrap", 4, 1) == "int8[8]: 3 1 2 3 1 2 3 1");
  CHECK(pad("reflect", -1, 2) == "int8[4]: 2 3 2 3");
  CHECK(pad("edge", -2, 1) == "int8[2]: 3 3");
  CHECK(pad("constant", -3, 2) == "int8[2]: 0 0");
  CHECK(absl::StrContains(pad("edge", -3, 2), "expected elements to pad with, found none"));
  CHECK(absl::StrContains(pad("constant", -2, -2), "expected to cut at most 3 elements off, found -2 and -2"));
}

TEST_CASE("parts of one element and of several, joined and split along any axis") {
  const auto joined = [](const std::string& parts, int axis) {
    return Computed({.given = "int16[2,1] a = {1, 2}, int16[2,3] b = {3, 4, 5, 6, 7, 8}, int16[2,0] none = {}",
                     .node = absl::StrCat("y = Concat<axis = ", axis, ">(", parts, ")"),
                     .output = "int16[N,M]"});
  };
  CHECK(joined("a, none, b, a", 1) == "int16[2,5]: 1 3 4 5 1 2 6 7 8 2");
  CHECK(joined("b, b", 0) == "int16[4,3]: 3 4 5 6 7 8 3 4 5 6 7 8");
  CHECK(joined("none, none", -1) == "int16[2,0]:");
  const auto split = [](const std::string& type, const std::string& sizes, int part) {
    return Computed(
        {.given = absl::StrCat(type, "[2,6] x = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, int64[3] s = {", sizes, "}"),
         .node = absl::StrCat("p0, p1, p2 = Split<axis = 1>(x, s) y = Identity(p", part, ")"),
         .output = absl::StrCat(type, "[N,M]")});
  };
  for (const std::string type : {"int8", "int16", "int32", "int64"}) {
    CHECK(split(type, "1, 5, 0", 0) == absl::StrCat(type, "[2,1]: 1 7"));
    CHECK(split(type, "1, 5, 0", 1) == absl::StrCat(type, "[2,5]: 2 3 4 5 6 8 9 10 11 12"));
    CHECK(split(type, "1, 5, 0", 2) == absl::StrCat(type, "[2,0]:"));
    CHECK(split(type, "1, 2, 3", 1) == absl::StrCat(type, "[2,2]: 2 3 8 9"));
  }
}

TEST_CASE("borders of several axes at once, with elements of one's own") {
  const auto pad = [](const std::string& mode, const std::string& pads) {
    return Computed(
        {.given = absl::StrCat("int32[2,3] x = {1, 2, 3, 4, 5, 6}, int64[4] pads = {", pads, "}, int32 fill = {9}"),
         .node = "y = Pad<mode = \"" + mode + "\">(x, pads, fill)",
         .output = "int32[N,M]"});
  };
  CHECK(pad("constant", "1, 2, 0, 1") == "int32[3,6]: 9 9 9 9 9 9 9 9 1 2 3 9 9 9 4 5 6 9");
  CHECK(pad("constant", "0, -1, 1, 0") == "int32[3,2]: 2 3 5 6 9 9");
  CHECK(pad("edge", "0, 2, 1, 1") == "int32[3,6]: 1 1 1 2 3 3 4 4 4 5 6 6 4 4 4 5 6 6");
  CHECK(pad("reflect", "1, 1, 0, 1") == "int32[3,5]: 5 4 5 6 5 2 1 2 3 2 5 4 5 6 5");
}

TEST_CASE("strings move like numbers, zero is the empty string") {
  const std::string given = "string[2,2] x = {\"a\", \"b\", \"c\", \"d\"}";
  CHECK(Computed({.given = given, .node = "y = Concat<axis = 1>(x, x)", .output = "string[2,4]"}) ==
        "string[2,4]: a b a b c d c d");
  CHECK(Computed({.given = given, .node = "y, z = Split<axis = 1, num_outputs = 2>(x)", .output = "string[2,1]"}) ==
        "string[2,1]: a c");
  CHECK(Computed({.given = given, .node = "y = Transpose(x)", .output = "string[2,2]"}) == "string[2,2]: a c b d");
  CHECK(Computed({.given = given, .node = "y = Trilu(x)", .output = "string[2,2]"}) == "string[2,2]: a b  d");
}

TEST_CASE("shapes that do not fit") {
  CheckRefused({
      {14, "float[2,3] x = {1, 2, 3, 4, 5, 6}, int64[2] s = {-1, -1}", "y = Reshape(x, s)", "can take, found [-1,-1]"},
      {14, "float[2,3] x = {1, 2, 3, 4, 5, 6}, int64[2] s = {4, -1}", "y = Reshape(x, s)", "can take, found [4,-1]"},
      {14, "float[2,3] x = {1, 2, 3, 4, 5, 6}, int64[3] s = {6, 1, 0}", "y = Reshape(x, s)", "with dimension 2"},
      {14, "float[1] x = {1}, int64[2] s = {4294967296, 4294967296}", "y = Reshape(x, s)", "a shape of 1 elements"},
      {13, kMatrix, "y = Flatten <axis = 3> (x)", "expected an axis in [-2, 2], found 3"},
      {13, kMatrix, "y = Transpose <perm = [0, 0]> (x)", "expected different axes, found [0,0]"},
      {13, kMatrix, "y = Transpose <perm = [0]> (x)", "expected a permutation of 2 axes, found [0]"},
      {11, kMatrix, "y = Squeeze <axes = [0]> (x)", "expected dimension 0 to be 1"},
      {11, kMatrix, "y = Unsqueeze <axes = [0, -4]> (x)", "expected different axes"},
      {13, "float[1] x = {1}, int64[2] s = {4294967296, 2}", "y = Expand(x, s)",
       "expected at most 2147483648 elements"},
      {13, "float[2] x = {1, 2}, int64[1] s = {-1}", "y = Expand(x, s)", "expected shapes that broadcast"},
      {13, "float[2] x = {1, 2}, int64[1] r = {9223372036854775807}", "y = Tile(x, r)", "expected a product that fits"},
      {13, "float[2] x = {1, 2}, int64[1] r = {-1}", "y = Tile(x, r)", "expected dimensions of at least 0"},
  });
}

TEST_CASE("parts that do not fit") {
  CheckRefused({
      {13, kMatrix, "y = Concat <axis = 2> (x, x)", "expected an axis in [-2, 2), found 2"},
      {13, "float[2] x = {1, 2}, float[1,2] z = {1, 2}", "y = Concat <axis = 0> (x, z)", "differ in dimension 0 only"},
      {13, "float[2] x = {1, 2}, int64[2] s = {3, -1}", "y, z = Split(x, s)", "expected sizes that sum up to 2"},
      {13, "float[2] x = {1, 2}, int64[2] s = {0, 1}", "y, z = Split(x, s)", "expected sizes that sum up to 2"},
      {13, "float[3] x = {1, 2, 3}", "y, z = Split(x)", "that 2 equal parts have, found 3"},
      {18, "float[3] x = {1, 2, 3}", "y, z = Split <num_outputs = 3> (x)", "expected num_outputs to be 2"},
      {13, "float[2] x = {1, 2}, int64[1] i = {0}", "y = Slice(x, i, i, i, i)", "expected steps other than 0"},
      {13, "float[2] x = {1, 2}, int64[2] i = {0, 0}", "y = Slice(x, i, i, i)", "expected different axes"},
      {14, "float[2] x = {1, 2}", "y = Trilu(x)", "expected matrices, found float32[2]"},
      {10, "float[1,2] x = {1, 2}, int64[2] l = {1, 2}", "y = ReverseSequence(x, l)", "lengths in [0, 1], found 2"},
      {18, "float[2] x = {1, 2}, int64[1] s = {-3}", "y = CenterCropPad(x, s)", "expected dimensions of at least 0"},
      {13, "float[2] x = {1, 2}, int64[2] p = {9223372036854775807, 1}", "y = Pad(x, p)", "expected pads of at most"},
      {13, "float[2] x = {1, 2}, int64[1] p = {1}", "y = Pad(x, p)", "expected 2 pads, found 1"},
      {13, "float[1,2,1,1] x = {1, 2}", "y = DepthToSpace <blocksize = 0> (x)", "a blocksize of at least 1, found 0"},
      {13, "float[1,2,1,1] x = {1, 2}", "y = DepthToSpace <blocksize = 2> (x)", "channels in multiples of 4"},
      {18, "float[1,1,1] x = {1}, int64[2] i = {1, 1}, int64[2] b = {1, 9}", "y = Col2Im(x, i, b)", "expected a block"},
  });
}

TEST_CASE("an axis as rows see it") {
  const amp::AxisView view({2, 3, 4}, 1);
  CHECK(view.rows() == 8);
  CHECK(view.First(5) == 13);
}
