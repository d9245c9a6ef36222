// Loops: when they end, what they give when they never began, and bodies that do not fit.
#include "absl/strings/match.h"
#include "tests/catch2.h"
#include "tests/runtime/run_text.h"

namespace {

// A loop that doubles x and stacks up what it was; `cond` is the operator that makes its condition of the last one.
std::string LoopText(const std::string& outputs, const std::string& cond, const std::string& inputs) {
  return outputs + R"( = Loop <body = b (int64 i, bool c, float[2] v) => (bool d, float[2] w, float[2] o) {
    d = )" +
         cond + R"((c)
    w = Add(v, v)
    o = Identity(v)
  }> ()" +
         inputs + ")";
}

std::string Looped(const std::string& trips, const std::string& condition, const std::string& node) {
  return Computed({.opset = 16,
                   .given = "int64 m = {" + trips + "}, bool c0 = {" + condition + "}, float[2] x = {1, 2}",
                   .node = node,
                   .output = "float"});
}

}  // namespace

TEST_CASE("a loop ends at its trip count or when its condition does not hold") {
  CHECK(Looped("3", "1", LoopText("y, s", "Identity", "m, c0, x")) == "float32[2]: 8 16");
  CHECK(Looped("3", "1", LoopText("y, s", "Not", "m, c0, x")) == "float32[2]: 2 4");
  CHECK(Looped("3", "1", LoopText("y, s", "Not", " , c0, x")) == "float32[2]: 2 4");
}

TEST_CASE("without a condition a loop with a trip count asks its body whether to go on, too, as ONNX Runtime does") {
  CHECK(Looped("3", "1", LoopText("y, s", "Not", "m, , x")) == "float32[2]: 2 4");
  CHECK(Looped("3", "1", LoopText("y, s", "Identity", "m, , x")) == "float32[2]: 8 16");
  CHECK(Looped("3", "1", LoopText("y, s", "Not", " , , x")) == "float32[2]: 2 4");
}

TEST_CASE("a loop that never begins gives its states as they were and stacks of nothing") {
  for (const std::string trips : {"0", "-5"}) {
    CHECK(Looped(trips, "1", LoopText("y, s", "Identity", "m, c0, x")) == "float32[2]: 1 2");
    CHECK(Looped(trips, "1", LoopText("s, y", "Identity", "m, c0, x")) == "float32[0,2]:");
  }
  CHECK(Looped("3", "0", LoopText("s, y", "Identity", "m, c0, x")) == "float32[0,2]:");
}

TEST_CASE("a loop without end is stopped") {
  CHECK(absl::StrContains(Looped("3", "1", LoopText("y, s", "Identity", " , c0, x")),
                          "expected at most 1000000 iterations"));
}

TEST_CASE("a body may give a value of the graph around it, time and again") {
  CHECK(Computed({.opset = 16,
                  .given = "int64 m = {2}, float[2] x = {1, 2}",
                  .node = R"(h = Add(x, x)
                             a, s = Loop <body = b (int64 i, bool c, float[2] v) => (bool c, float[2] v, float[2] h) {}> (m, , x)
                             t = ReduceSum<keepdims = 0>(s)
                             y = Add(t, h))",
                  .output = "float[2]"}) == "float32[2]: 14 16");
}

TEST_CASE("an iteration has the shape that the body states") {
  CHECK(Computed({.opset = 16,
                  .given = "int64[1] m = {2}, bool[1] c0 = {1}",
                  .node = R"(y = Loop <body = b (int64[1] i, bool[1] c) => (bool[1] d, int64[1] j) {
                               d = Identity(c)
                               j = Identity(i)
                             }> (m, c0))",
                  .output = "int64[n,1]"}) == "int64[2,1]: 0 1");
}

TEST_CASE("bodies and conditions that do not fit are refused") {
  CHECK(absl::StrContains(Looped("3", "1", LoopText("y, s", "Identity", "m, c0, x, x")),
                          "expected 4 inputs of the body, found 3"));
  CHECK(absl::StrContains(Looped("3", "1", LoopText("y, s, t", "Identity", "m, c0, x")),
                          "expected at least 4 outputs of the body, found 3"));
  CHECK(absl::StrContains(Computed({.opset = 16,
                                    .given = "bool[2] c = {1, 0}, float[1] x = {1}",
                                    .node = R"(y = If (c) <then_branch = t () => (float[1] a) { a = Identity(x) },
                                                           else_branch = e () => (float[1] b) { b = Neg(x) }>)",
                                    .output = "float[1]"}),
                          "expected one truth value as the condition, found bool[2]"));
}

TEST_CASE("Scan goes along any axis in either direction") {
  const auto scan = [](const std::string& attributes, const std::string& outputs) {
    return Computed({.opset = 16,
                     .given = "float[2] st = {0, 0}, float[2,3] x = {1, 2, 3, 4, 5, 6}",
                     .node = outputs + " = Scan <num_scan_inputs = 1, scan_input_axes = [1], " + attributes +
                             R"(, body = b (float[2] v, float[2] e) => (float[2] w, float[2] o) {
                               w = Add(v, e)
                               o = Identity(w)
                             }> (st, x))",
                     .output = "float"});
  };
  CHECK(scan("scan_output_axes = [-1]", "a, y") == "float32[2,3]: 1 3 6 4 9 15");
  CHECK(scan("scan_input_directions = [1]", "a, y") == "float32[3,2]: 3 6 5 11 6 15");
  CHECK(scan("scan_output_directions = [1]", "a, y") == "float32[3,2]: 6 15 3 9 1 4");
  CHECK(scan("scan_output_directions = [1]", "y, a") == "float32[2]: 6 15");
  CHECK(absl::StrContains(scan("scan_output_axes = [5]", "a, y"), "expected an axis in [-2, 2), found 5"));
  CHECK(absl::StrContains(scan("scan_input_directions = [2]", "a, y"), "expected 0 or 1, found 2"));
}

TEST_CASE("samples of Scan-8 may be of different lengths") {
  CHECK(
      Computed(
          {.opset = 8,
           .given = "int64[2] lens = {1, 2}, float[2,1] st = {0, 0}, float[2,2,1] x = {1, 2, 3, 4}",
           .node = R"(a, y = Scan <num_scan_inputs = 1, body = b (float[1] v, float[1] e) => (float[1] w, float[1] o) {
                               w = Add(v, e)
                               o = Identity(w)
                             }> (lens, st, x))",
           .output = "float[2,2,1]"}) == "float32[2,2,1]: 1 0 3 7");
}
