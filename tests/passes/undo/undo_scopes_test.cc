// The record of a rewrite tells scopes apart, and the user's own casts from those of the rewrite.
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/passes/undo/undo_folder.h"

namespace amp {
namespace {

// Rewrites, once for every list of flags, takes that back and compares.
void CheckRoundTrip(const Undo& undo, const std::vector<std::vector<std::string>>& rewrites = {{}}) {
  std::string from = "in.onnx";
  for (const std::vector<std::string>& flags : rewrites) {
    const std::string to = absl::StrCat("low_", from);
    REQUIRE(undo.RunTool(from, to, flags).exit_code == 0);
    REQUIRE(undo.folder.Read(to) != undo.folder.Read(from));
    from = to;
  }
  INFO(Record(undo.Model(from)));
  REQUIRE_FALSE(Record(undo.Model(from)).empty());
  const ToolOutput output = undo.TakeBack(from);
  INFO(output.err);
  REQUIRE(output.exit_code == 0);
  CHECK_FALSE(absl::StrContains(output.err, "no longer fit"));
  CHECK(undo.Lines("back.onnx") == undo.Lines("in.onnx"));
}

TEST_CASE("one name in two branches is told apart") {
  const Undo undo(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[2,2] x, bool c) => (float[2,2] y) {
      k = If (c) <
        then_branch = t () => (float[2,2] v) { s = Constant <value = float[2,2] {1, 2, 3, 4}> ()  v = MatMul (s, x) },
        else_branch = e () => (float[2,2] w) { s = Constant <value = float[2,2] {5, 6, 7, 8}> ()  w = MatMul (s, s) }>
      y = MatMul (k, x)
    })");
  CheckRoundTrip(undo);
  CHECK(absl::StrContains(Record(undo.Model("low_in.onnx")), R"("narrowed":[["s",1],["s",2]])"));
  CHECK(absl::StrContains(Record(undo.Model("low_in.onnx")), R"("scopes":[["k",0],["k",1]]})"));
}

TEST_CASE("one name in bodies of bodies is told apart, and bodies by owners of one name") {
  CheckRoundTrip(Undo(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[2,2] x, bool c) => (float[2,2] y) {
      k = If (c) <
        then_branch = t () => (float[2,2] m) {
          [scan] m = Scan <num_scan_inputs = 1, body = b (float[2] row) => (float[2] out) {
            s = Constant <value = float[2,2] {1, 2, 3, 4}> ()
            out = MatMul (row, s)
          }> (x)
        },
        else_branch = e () => (float[2,2] m) {
          [scan] m = Scan <num_scan_inputs = 1, body = b (float[2] row) => (float[2] out) {
            s = Constant <value = float[2,2] {5, 6, 7, 8}> ()
            z = Softmax (row)
            out = MatMul (z, s)
          }> (x)
        }>
      y = MatMul (k, x)
    })"));
}

TEST_CASE("a user's casts in a row are made again, in order") {
  const Undo undo(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[2,2] x) => (float[2,2] y) {
      [first] a = MatMul (x, x)
      [narrow] b = Cast <to = 10> (a)
      [widen] c = Cast <to = 1> (b)
      [last] y = MatMul (c, c)
    })");
  CheckRoundTrip(undo);
  REQUIRE_FALSE(absl::StrContains(undo.Text("low_in.onnx"), "[widen]"));
  // Which of them a rewrite folds away does not matter when a later one folds the rest.
  CheckRoundTrip(undo, {{"--deny-node", "first"}, {}});
  REQUIRE_FALSE(absl::StrContains(undo.Text("low_low_in.onnx"), "[narrow]"));
  CheckRoundTrip(undo, {{"--deny-node", "last"}, {}});
  REQUIRE_FALSE(absl::StrContains(undo.Text("low_low_in.onnx"), "[narrow]"));
}

TEST_CASE("casts in a row that gave graph outputs and body outputs") {
  CheckRoundTrip(Undo(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[2,2] x, bool c) => (float[2,2] y, float16[2,2] b, float16[2,2] z) {
      a = MatMul (x, x)
      b = Cast <to = 10> (a)
      w = Cast <to = 1> (b)
      k = If (c) <
        then_branch = t () => (float[2,2] r) { q = Cast <to = 10> (w)  r = Cast <to = 1> (q) },
        else_branch = e () => (float[2,2] r) { p = MatMul (w, w)  q = Cast <to = 10> (p)  r = Cast <to = 1> (q) }>
      y = MatMul (k, w)
      z = Cast <to = 10> (y)
    })"));
}

TEST_CASE("a cast has its own name again although another scope has one of that name") {
  CheckRoundTrip(Undo(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[2,2] x, float16[2,2] h, bool c) => (float[2,2] y) {
      k = If (c) <
        then_branch = t () => (float[2,2] v) { s = Cast <to = 1> (h)  v = MatMul (s, x) },
        else_branch = e () => (float[2,2] w) { s = Exp (x)  w = MatMul (s, x) }>
      y = MatMul (k, x)
    })"));
}

TEST_CASE("the type of an Optional comes back") {
  CheckRoundTrip(Undo(R"(<ir_version: 8, opset_import: ["" : 18]>
    g (float[2,2] x, bool c) => (float[2,2] y) {
      o = Optional <type: type_proto = float[2,2]> ()
      k = If (c) <
        then_branch = t () => (float[2,2] v) { u = OptionalGetElement (o)  v = Relu (u) },
        else_branch = e () => (float[2,2] w) { w = MatMul (x, x) }>
      y = MatMul (k, x)
    })"),
                 {{"--level", "unsafe-force-all"}});
}

// The result of the call has no known type, so that only declarations tell the types behind it.
TEST_CASE("declared types behind a call of a function come back, in bodies and in the main graph") {
  constexpr absl::string_view kFunction = R"(
    <domain: "local", opset_import: ["" : 17]>
    f (a) => (b) { b = Identity (a) })";
  CheckRoundTrip(Undo(absl::StrCat(R"(<ir_version: 10, opset_import: ["" : 17, "local" : 1]>
    g (float[2,2] x, bool c) => (float[2,2] y) {
      u = local.f (x)
      k = If (c) <
        then_branch = t () => (float[2,2] v) { v = Relu (u) },
        else_branch = e () => (float[2,2] w) { w = MatMul (x, x) }>
      y = MatMul (k, x)
    })",
                                   kFunction)),
                 {{"--functions", "keep", "--level", "unsafe-force-all"}});
  CheckRoundTrip(Undo(absl::StrCat(R"(<ir_version: 10, opset_import: ["" : 17, "local" : 1]>
    g (float[2,2] x) => (float[2,2] y) <float[] v, float[] w> {
      u = local.f (x)
      v = Relu (u)
      w = MatMul (v, v)
      y = Relu (w)
    })",
                                   kFunction)),
                 {{"--functions", "keep", "--level", "unsafe-force-all"}});
}

TEST_CASE("a name that is not UTF-8 leaves no record, and advice says so") {
  const Undo undo(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[2,2] x) => (float[2,2] y) <float[2,2] w = {1, 2, 3, 4}> { y = MatMul (x, w) })");
  onnx::ModelProto model = undo.Model("in.onnx");
  const std::string odd = "w\xff";
  model.mutable_graph()->mutable_initializer(0)->set_name(odd);
  model.mutable_graph()->mutable_node(0)->set_input(1, odd);
  undo.folder.Write("in.onnx", model.SerializeAsString());
  const ToolOutput output = undo.RunTool("in.onnx", "low.onnx", {});
  CHECK(output.exit_code == 0);
  CHECK(absl::StrContains(output.err, "cannot take this rewrite back: a name in it is not UTF-8\n"));
  CHECK(Record(undo.Model("low.onnx")).empty());
}

}  // namespace
}  // namespace amp
