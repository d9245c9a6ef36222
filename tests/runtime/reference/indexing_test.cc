// Operators that follow, make or compare indices: what ONNX's own cases leave out, and what they refuse.
#include "absl/strings/match.h"
#include "tests/catch2.h"
#include "tests/runtime/run_text.h"

namespace {

std::string Scattered(const std::string& type, const std::string& data, const std::string& updates,
                      const std::string& reduction) {
  return Computed(
      {.opset = 18,
       .given = type + "[2] x = {" + data + "}, int64[2] i = {1, -1}, " + type + "[2] u = {" + updates + "}",
       .node = "y = ScatterElements <reduction = \"" + reduction + "\"> (x, i, u)",
       .output = type + "[2]"});
}

std::string Refusal(int opset, const std::string& given, const std::string& node) {
  return Computed({.opset = opset, .given = given, .node = node, .output = "float[N]"});
}

}  // namespace

TEST_CASE("updates of one element add up, rounded once") {
  CHECK(Scattered("int8", "1, 127", "1, 2", "add") == "int8[2]: 1 -126");
  CHECK(Scattered("int64", "1, 9223372036854775807", "9223372036854775807, 1", "mul") == "int64[2]: 1 1");
  CHECK(Scattered("bool", "0, 0", "1, 0", "add") == "bool[2]: 0 1");
  CHECK(Scattered("bool", "0, 1", "1, 0", "mul") == "bool[2]: 0 0");
  // float16: 2048 + 1 is 2048, but 2048 + 1 + 1 is not.
  CHECK(Scattered("float16", "0, 26624", "15360, 15360", "add") == "float16[2]: 0 2050");
  CHECK(Scattered("uint8", "7, 3", "9, 4", "max") == "uint8[2]: 7 9");
  CHECK(Scattered("int32", "7, 3", "-9, 4", "min") == "int32[2]: 7 -9");
}

TEST_CASE("a NaN is the largest and the smallest") {
  // float16 32256 is NaN.
  CHECK(Scattered("float16", "15360, 15360", "32256, 15360", "max") == "float16[2]: 1 nan");
  CHECK(Scattered("float16", "15360, 32256", "15360, 15360", "min") == "float16[2]: 1 nan");
  const auto position = [](const std::string& node) {
    return Computed({.given = "float16[3] x = {15360, 32256, 0}", .node = node, .output = "int64[1]"});
  };
  CHECK(position("y = ArgMax(x)") == "int64[1]: 1");
  CHECK(position("y = ArgMin(x)") == "int64[1]: 1");
}

TEST_CASE("GatherElements along any axis, by both types of indices, some from the end") {
  const auto picked = [](const std::string& indices, const std::string& node, const std::string& output) {
    return Computed({.given = "float[3,2] x = {0, 1, 2, 3, 4, 5}, " + indices, .node = node, .output = output});
  };
  CHECK(picked("int64[2,2] i = {2, 0, -1, -3}", "y = GatherElements (x, i)", "float[2,2]") == "float32[2,2]: 4 1 4 1");
  CHECK(picked("int32[2,2] i = {1, -2, 0, 1}", "y = GatherElements <axis = 1> (x, i)", "float[2,2]") ==
        "float32[2,2]: 1 0 2 3");
  CHECK(picked("int64[3,1] i = {0, 1, 2}", "y = GatherElements <axis = -2> (x, i)", "float[3,1]") ==
        "float32[3,1]: 0 2 4");
  CHECK(absl::StrContains(picked("int64[1,2] i = {0, 3}", "y = GatherElements (x, i)", "float[1,2]"),
                          "expected an index in [-3, 3), found 3"));
  CHECK(absl::StrContains(picked("int64[1,3] i = {0, 1, 1}", "y = GatherElements (x, i)", "float[1,3]"),
                          "expected indices of at most [3,2]"));
  CHECK(Computed({.given = "string[2] x = {\"a\", \"b\"}, int64[3] i = {1, 0, -1}",
                  .node = "y = GatherElements (x, i)",
                  .output = "string[3]"}) == "string[3]: b a b");
}

TEST_CASE("OneHot counts from the back since version 11 only") {
  const std::string given = "int64[3] i = {-1, 0, 2}, int64 depth = {2}, int32[2] values = {5, 7}";
  const auto one_hot = [&](int opset) {
    return Computed({.opset = opset, .given = given, .node = "y = OneHot(i, depth, values)", .output = "int32[3,2]"});
  };
  CHECK(one_hot(9) == "int32[3,2]: 5 5 7 5 5 5");
  CHECK(one_hot(11) == "int32[3,2]: 5 7 7 5 5 5");
}

TEST_CASE("TopK gives the first of equal elements first") {
  CHECK(Computed({.given = "int64[4] x = {3, 9223372036854775807, 3, 9223372036854775806}, int64[1] k = {3}",
                  .node = "values, y = TopK(x, k)",
                  .output = "int64[3]"}) == "int64[3]: 1 3 0");
  CHECK(Computed({.given = "uint8[3] x = {1, 0, 1}, int64[1] k = {3}",
                  .node = "values, y = TopK <largest = 0> (x, k)",
                  .output = "int64[3]"}) == "int64[3]: 1 0 2");
}

TEST_CASE("TopK and ArgMax of long rows and of short ones: equal elements in order, NaN the largest") {
  std::string given = "int64[1] k = {8}, float[60] x = {0";
  for (int i = 1; i < 60; ++i) given += ", " + std::to_string(i * 7 % 11);
  const auto positions = [&](const std::string& node, const std::string& size) {
    return Computed({.given = given + "}", .node = node, .output = "int64[" + size + "]"});
  };
  CHECK(positions("values, y = TopK (x, k)", "8") == "int64[8]: 3 14 25 36 47 58 6 17");
  CHECK(positions("values, y = TopK <largest = 0> (x, k)", "8") == "int64[8]: 0 11 22 33 44 55 8 19");
  CHECK(Computed({.given = "int64[1] k = {5}, float[6] x = {1, 3, 2, 3, 1, 0}",
                  .node = "values, y = TopK (x, k)",
                  .output = "int64[5]"}) == "int64[5]: 1 3 2 0 4");
  CHECK(positions("y = ArgMax (x)", "1") == "int64[1]: 3");
  CHECK(positions("y = ArgMax <select_last_index = 1> (x)", "1") == "int64[1]: 58");
  CHECK(positions("y = ArgMin <select_last_index = 1> (x)", "1") == "int64[1]: 55");
  const auto of_rows = [](const std::string& node) {
    return Computed({.given = "float16[3,3] x = {15360, 16896, 16896, 15360, 32256, 32256, 0, 0, 0}",
                     .node = node,
                     .output = "int64[3,1]"});
  };
  CHECK(of_rows("y = ArgMax <axis = 1> (x)") == "int64[3,1]: 1 1 0");
  CHECK(of_rows("y = ArgMax <axis = 1, select_last_index = 1> (x)") == "int64[3,1]: 2 2 2");
  CHECK(of_rows("y = ArgMin <axis = 1> (x)") == "int64[3,1]: 0 1 0");
  CHECK(Computed({.given = "int64[1] k = {2}, float16[4] x = {15360, 32256, 16896, 32256}",
                  .node = "values, y = TopK (x, k)",
                  .output = "int64[2]"}) == "int64[2]: 1 3");
}

TEST_CASE("Unique of slices, in their order or as they come") {
  const auto unique = [](const std::string& node) {
    return Computed(
        {.given = "string[3,2] x = {\"b\", \"a\", \"a\", \"z\", \"b\", \"a\"}", .node = node, .output = "string[N,2]"});
  };
  CHECK(unique("y = Unique <axis = 0> (x)") == "string[2,2]: a z b a");
  CHECK(unique("y = Unique <axis = 0, sorted = 0> (x)") == "string[2,2]: b a a z");
}

TEST_CASE("Range counts where the distance does not fit its type") {
  CHECK(Computed({.given = "int64 a = {-9223372036854775808}, int64 b = {9223372036854775807}, "
                           "int64 d = {9223372036854775807}",
                  .node = "y = Range(a, b, d)",
                  .output = "int64[N]"}) == "int64[3]: -9223372036854775808 -1 9223372036854775806");
}

TEST_CASE("ConstantOfShape takes an int4 apart") {
  CHECK(Computed({.given = "int64[1] s = {2}",
                  .node = "y = ConstantOfShape <value = int4[1] {-3}> (s)",
                  .output = "int4[2]"}) == "int4[2]: -3 -3");
}

TEST_CASE("sums of integers wrap, and ArgMax of nothing is refused") {
  CHECK(Computed({.given = "int32[2] x = {2147483647, 1}, int64 axis = {0}",
                  .node = "y = CumSum(x, axis)",
                  .output = "int32[2]"}) == "int32[2]: 2147483647 -2147483648");
  CHECK(absl::StrContains(Computed({.given = "int64[2] s = {2, 0}",
                                    .node = "x = ConstantOfShape(s) y = ArgMax <axis = 1> (x)",
                                    .output = "int64[2,1]"}),
                          "expected elements along axis 1, found none"));
}

TEST_CASE("sequences") {
  const std::string given = "float[1] a = {1}, float[1] b = {2}, int64 position = {-1}";
  const std::string sequence = "s = SequenceConstruct(a, b) ";
  CHECK(Computed({.given = given,
                  .node = sequence + "t = SequenceInsert(s, a, position) y = ConcatFromSequence <axis = 0> (t)",
                  .output = "float[N]"}) == "float32[3]: 1 1 2");
  CHECK(Computed({.given = given,
                  .node = sequence + "y = ConcatFromSequence <axis = -1, new_axis = 1> (s)",
                  .output = "float[N,M]"}) == "float32[1,2]: 1 2");
  const auto refused = [&](const std::string& nodes) { return Refusal(17, given, nodes); };
  CHECK(absl::StrContains(refused("s = SequenceEmpty() y = ConcatFromSequence <axis = 0> (s)"),
                          "expected tensors, found none"));
  CHECK(absl::StrContains(refused("s = SequenceEmpty() y = SequenceAt(s, position)"), "expected an index in [0, 0)"));
  CHECK(absl::StrContains(refused("s = SequenceEmpty() t = SequenceErase(s) y = SequenceAt(t, position)"),
                          "expected a sequence with elements, found none"));
  CHECK(absl::StrContains(refused("s = SplitToSequence(a, position) y = SequenceAt(s, position)"),
                          "expected parts of at least 1 element, found -1"));
  CHECK(absl::StrContains(refused("o = Optional <type = float[1]> () y = OptionalGetElement(o)"),
                          "expected an element in the optional, found none"));
}

TEST_CASE("a split by the scalar 1 drops its axis where keepdims is 0, as ONNX Runtime has it") {
  const auto joined = [](const std::string& split, const std::string& output) {
    return Computed({.given = "float[2,2] x = {1, 2, 3, 4}, int64 one = {1}, int64 two = {2}, int64[2] ones = {1, 1}",
                     .node = "s = SplitToSequence" + split + " y = ConcatFromSequence<axis = 0, new_axis = 1>(s)",
                     .output = output});
  };
  CHECK(joined("<keepdims = 0>(x, one)", "float[n,2]") == "float32[2,2]: 1 2 3 4");
  CHECK(joined("<keepdims = 0, axis = 1>(x, one)", "float[n,2]") == "float32[2,2]: 1 3 2 4");
  CHECK(joined("<keepdims = 0>(x)", "float[n,2]") == "float32[2,2]: 1 2 3 4");
  CHECK(joined("(x, one)", "float[n,1,2]") == "float32[2,1,2]: 1 2 3 4");
  CHECK(joined("<keepdims = 0>(x, ones)", "float[n,1,2]") == "float32[2,1,2]: 1 2 3 4");
  CHECK(joined("<keepdims = 0>(x, two)", "float[n,2,2]") == "float32[1,2,2]: 1 2 3 4");
}

TEST_CASE("indices that do not fit") {
  struct {
    int opset;
    const char *given, *node, *error;
  } const cases[] = {
      {13, "float[2] x = {1, 2}, int64[1] i = {2}", "y = Gather(x, i)", "expected an index in [-2, 2), found 2"},
      {13, "float[2] x = {1, 2}, int64[1] i = {-3}", "y = GatherElements(x, i)", "in [-2, 2), found -3"},
      {13, "float[2,1] x = {1, 2}, int64[1,2] i = {0, 0}", "y = GatherElements(x, i)", "found [1,2]"},
      {13, "float[2] x = {1, 2}, int64[1,2] i = {0, 0}", "y = GatherND(x, i)", "expected tuples of coordinates in [2]"},
      {13, "float[2] x = {1, 2}, int64[1] i = {0}", "y = GatherND <batch_dims = 1> (x, i)", "behind 1 dimensions"},
      {11, "float[2] x = {1, 2}, bool[3] c = {0, 0, 1}", "y = Compress(x, c)", "expected a mask of 2 elements"},
      {13, "float[2] x = {1, 2}, int64[1] i = {0}", "y = ScatterElements(x, i, x)", "expected updates float32[1]"},
      {13, "float[2] x = {1, 2}, int64[1,1] i = {2}", "y = ScatterND(x, i, x)", "in [-2, 2), found 2"},
      {18, "float[2] x = {1, 2}, int64[2] i = {0, 1}", "y = ScatterElements <reduction = \"sub\"> (x, i, x)",
       "expected reduction none, add, mul, max or min, found sub"},
      {24, "float[1,2] x = {1, 2}, int64[1] i = {1}", "y = TensorScatter <axis = 1> (x, x, i)", "in [0, 0], found 1"},
      {11, "float[2] x = {1, 2}, int64[1] k = {3}", "y, i = TopK(x, k)", "expected k in [0, 2], found 3"},
      {11, "float[1] i = {1}, float d = {1e30}, float[2] v = {0, 1}", "y = OneHot(i, d, v)", "expected a depth"},
      {11, "float a = {0}, float b = {1}, float d = {0}", "y = Range(a, b, d)", "a delta other than 0, found 0"},
      {11, "float a = {0}, float b = {1e30}, float d = {1}", "y = Range(a, b, d)", "expected at most 2147483648"},
      {9, "int64[2] s = {-1, 2}", "y = ConstantOfShape(s)", "expected dimensions of at least 0, found [-1,2]"},
  };
  for (const auto& [opset, given, node, error] : cases) {
    CAPTURE(node);
    const std::string found = Refusal(opset, given, node);
    CAPTURE(found);
    CHECK(absl::StartsWith(found, "error: "));
    CHECK(absl::StrContains(found, error));
  }
}
