#include "ir/graph/control_flow.h"

#include "absl/strings/str_cat.h"
#include "ir/graph/check_types.h"
#include "ir/graph/infer.h"
#include "tests/catch2.h"
#include "tests/model_from_text.h"

namespace amp {
namespace {

std::string Header(int opset) {
  return absl::StrCat(R"(<ir_version: 8, opset_import: ["" : )", opset, R"(, "custom" : 1]>)");
}

// "in0>b2 b1>out0 b1>b2": node inputs into the body, the body's outputs to the node, states.
std::string Joins(const Model& model, NodeId id) {
  const std::optional<ControlFlow> flow = DescribeControlFlow(model, id);
  if (!flow.has_value()) return "opaque";
  std::string text;
  for (const auto& join : flow->inputs) absl::StrAppend(&text, " in", join.node_port, ">b", join.body_port);
  for (const auto& join : flow->outputs) absl::StrAppend(&text, " b", join.body_port, ">out", join.node_port);
  for (const auto& state : flow->states) absl::StrAppend(&text, " b", state.output, ">b", state.input);
  return text.empty() ? text : text.substr(1);
}

TEST_CASE("the branches of an If meet its outputs") {
  const auto model = GraphFromText(Header(17) + R"(g (float[2] x, bool c) => (float[2] y, float[2] z) {
    y, z = If (c) <then_branch = t () => (float[2] p, float[2] q) { p = Neg (x)  q = Abs (x) },
                   else_branch = e () => (float[2] r, float[2] s) { r = Abs (x)  s = Neg (x) }> })");
  CHECK(Joins(*model, NodeId(0)) == "b0>out0 b1>out1 b0>out0 b1>out1");
  CHECK(KindOfBody(*model, model->node(NodeId(0)).bodies[0]) == BodyKind::kBranch);
}

TEST_CASE("a Loop carries states and collects scan outputs") {
  const auto model = GraphFromText(Header(17) + R"(g (float[2] x, int64 n, bool c) => (float[2] y, float[n,2] z) {
    y, z = Loop (n, c, x) <body = l (int64 i, bool go, float[2] s) => (bool go, float[2] t, float[2] u) {
      t = Neg (s)  u = Abs (s) }> })");
  CHECK(Joins(*model, NodeId(0)) == "in2>b2 b1>out0 b2>out1 b1>b2");
  CHECK(KindOfBody(*model, model->node(NodeId(0)).bodies[0]) == BodyKind::kRepeated);
}

TEST_CASE("a Loop whose last outputs nobody names joins the others") {
  const auto model = GraphFromText(Header(17) + R"(g (float[2] x, int64 n, bool c) => (float[2] y) {
    y = Loop (n, c, x) <body = l (int64 i, bool go, float[2] s) => (bool go, float[2] t, float[2] u) {
      t = Neg (s)  u = Abs (s) }> })");
  CHECK(Joins(*model, NodeId(0)) == "in2>b2 b1>out0 b1>b2");
}

TEST_CASE("a Scan has states first, then slices") {
  const auto model = GraphFromText(Header(17) + R"(g (float[2] h, float[3,2] x) => (float[2] y, float[3,2] z) {
    y, z = Scan <num_scan_inputs = 1, body = s (float[2] a, float[2] b) => (float[2] c, float[2] d) {
      c = Add (a, b)  d = Neg (c) }> (h, x) })");
  CHECK(Joins(*model, NodeId(0)) == "in0>b0 in1>b1 b0>out0 b1>out1 b0>b0");
}

TEST_CASE("a Scan of opset 8 has the lengths in front") {
  const auto model = GraphFromText(Header(8) + R"(g (float[1,2] h, float[1,3,2] x) => (float[1,2] y, float[1,3,2] z) {
    y, z = Scan <num_scan_inputs = 1, body = s (float[2] a, float[2] b) => (float[2] c, float[2] d) {
      c = Add (a, b)  d = Neg (c) }> ("", h, x) })");
  CHECK(Joins(*model, NodeId(0)) == "in1>b0 in2>b1 b0>out0 b1>out1 b0>b0");
}

TEST_CASE("a SequenceMap hands elements in and collects them") {
  const auto model = GraphFromText(Header(17) + R"(g (seq(float[2]) s, float[2] w) => (seq(float[2]) t) {
    t = SequenceMap (s, w) <body = b (float[2] e, float[2] k) => (float[2] r) { r = Add (e, k) }> })");
  CHECK(Joins(*model, NodeId(0)) == "in0>b0 in1>b1 b0>out0");
}

TEST_CASE("a graph on any other operator is opaque") {
  const auto model = GraphFromText(Header(17) + R"(g (float[2] x) => (float[2] y) {
    y = custom.If (x) <body = b () => (float[2] r) { r = Neg (x) }> })");
  CHECK(Joins(*model, NodeId(0)) == "opaque");
  CHECK(KindOfBody(*model, model->node(NodeId(0)).bodies[0]) == BodyKind::kOpaque);
}

TEST_CASE("a body whose type is not its node's is found") {
  const auto model = GraphFromText(Header(17) + R"(g (float[2] x, int64 n, bool c) => (float[2] y) {
    [loop] y = Loop (n, c, x) <body = l (int64 i, bool go, float[2] s) => (bool go, float[2] t) { t = Neg (s) }> })");
  InferTypes(*model);
  CHECK(CheckTypes(*model).ok());
  const GraphId body = model->node(NodeId(0)).bodies[0];
  const auto says = [&](const char* text) {
    return std::string(CheckTypes(*model).message()).find(text) != std::string::npos;
  };
  model->SetTensorType(model->node(NodeId(0)).outputs[0], DType::kFloat16);
  CHECK(says("node 'loop' (Loop) output 0: expected float32 as 't' in its body, found float16"));
  model->SetTensorType(model->node(NodeId(0)).outputs[0], DType::kFloat32);
  model->SetTensorType(model->graph(body).inputs[2], DType::kFloat16);
  CHECK(says("node 'loop' (Loop) input 2: expected float16 as 's' in its body, found float32"));
}

}  // namespace
}  // namespace amp
