// The graphs that the adapters write, as text. tests/judge/rewrite/adapters.py checks that they compute the same.
#include "ir/opset/opset_adapters.h"

#include <set>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "google/protobuf/arena.h"
#include "ir/graph/check_types.h"
#include "ir/graph/infer.h"
#include "ir/opset/opset_steps.h"
#include "ir/schema/schema.h"
#include "onnx/defs/parser.h"
#include "onnx/defs/printer.h"
#include "onnx/defs/schema.h"
#include "onnx/onnx_pb.h"
#include "tests/catch2.h"

namespace amp {
namespace {

std::unique_ptr<Model> Parse(absl::string_view text) {
  auto arena = std::make_unique<google::protobuf::Arena>();
  auto* proto = google::protobuf::Arena::CreateMessage<onnx::ModelProto>(arena.get());
  const auto parsed = onnx::OnnxParser::Parse(*proto, std::string(text));
  INFO(parsed.ErrorMessage());
  REQUIRE(parsed.IsOK());
  auto model = Model::Create(std::move(arena), proto);
  REQUIRE(model.ok());
  InferTypes(**model);
  return *std::move(model);
}

std::string Head(int opset, int ir = 8) {
  return absl::StrCat("<ir_version: ", ir, ", opset_import: [\"\" : ", opset, ", \"other\" : 1]>\n");
}

// The text of the graph, without the blanks that only lay it out.
std::string GraphText(const onnx::GraphProto& graph) {
  std::string text;
  for (char c : onnx::ProtoToString(graph)) {
    const bool blank = c == ' ' || c == '\n';
    if (!blank) {
      text += c;
    } else if (!text.empty() && text.back() != ' ') {
      text += ' ';
    }
  }
  return text;
}

void CheckLift(int from, int to, absl::string_view before, absl::string_view after) {
  const auto model = Parse(absl::StrCat(Head(from), before));
  const OpsetReach reach = ReachableOpset(*model, to);
  CHECK(reach.opset == to);
  CHECK_FALSE(reach.blocking);
  CHECK_FALSE(model->edited());
  REQUIRE(LiftOpset(*model, to).ok());
  model->CheckConsistency();
  InferTypes(*model);
  CHECK(CheckTypes(*model).ok());
  model->Commit();
  CHECK(model->opset("") == to);
  CHECK(model->ir_version() >= IrVersionForOpset(to));
  onnx::GraphProto wanted;
  const auto parsed = onnx::OnnxParser::Parse(wanted, std::string(after));
  INFO(parsed.ErrorMessage());
  REQUIRE(parsed.IsOK());
  CHECK(GraphText(model->proto().graph()) == GraphText(wanted));
}

void CheckStop(int from, int to, int expected, absl::string_view why, absl::string_view text) {
  const auto model = Parse(absl::StrCat(Head(from), text));
  const OpsetReach reach = ReachableOpset(*model, to);
  CHECK(reach.opset == expected);
  CHECK(reach.blocking.sentence() == why);
  const absl::Status status = LiftOpset(*model, to);
  CHECK(status.code() == absl::StatusCode::kPermissionDenied);
  CHECK_FALSE(model->edited());
  CHECK(model->opset("") == from);
}

TEST_CASE("a node of another domain keeps its form and its version") {
  CheckLift(12, 22, "g (float[1, 2] x) => (float[1, 2] y) { y = other.Squeeze <axes = [0]> (x) }",
            "g (float[1, 2] x) => (float[1, 2] y) { y = other.Squeeze <axes = [0]> (x) }");
}

TEST_CASE("a model at the target already is not touched") {
  const auto model = Parse(absl::StrCat(Head(22), "g (float[1, 2] x) => (float[1, 2] y) { y = Softmax (x) }"));
  for (int target : {22, 13}) {
    const OpsetReach reach = ReachableOpset(*model, target);
    CHECK(reach.opset == 22);
    CHECK_FALSE(reach.blocking);
    CHECK(LiftOpset(*model, target).ok());
    CHECK_FALSE(model->edited());
  }
}

TEST_CASE("a step that only widens types changes nothing but the import") {
  CheckLift(11, 22,
            "g (float[1, 2, 4, 4] x, float[2, 2, 1, 1] w) => (float[1, 2, 4, 4] y) { c = Conv (x, w) y = Relu (c) }",
            "g (float[1, 2, 4, 4] x, float[2, 2, 1, 1] w) => (float[1, 2, 4, 4] y) { c = Conv (x, w) y = Relu (c) }");
}

TEST_CASE("axes become an input, in a body too, under a name that nothing has") {
  CheckLift(12, 13, "g (float[1, 2] y_axes) => (float[2] y) { y = Squeeze <axes = [0]> (y_axes) }",
            "g (float[1, 2] y_axes) => (float[2] y) <int64[1] y_axes_1 = {0}> { y = Squeeze (y_axes, y_axes_1) }");
  CheckLift(12, 13,
            "g (bool c, float[1, 2] x) => (float[2] y) { y = If (c) <"
            "then_branch = a () => (float[2] t) { t = Squeeze <axes = [0]> (x) },"
            "else_branch = b () => (float[2] e) { e = Squeeze (x) }> }",
            "g (bool c, float[1, 2] x) => (float[2] y) { y = If <"
            "then_branch: graph = a () => (float[2] t) <int64[1] t_axes = {0}> { t = Squeeze (x, t_axes) },"
            "else_branch: graph = b () => (float[2] e) { e = Squeeze (x) }> (c) }");
}

TEST_CASE("before opset 7 an attribute said where the second operand lines up; then it takes ones behind it") {
  CheckLift(6, 13,
            "g (float[1, 2, 4, 4] x, float[2] b) => (float[1, 2, 4, 4] y) {"
            " a = Add <broadcast = 1> (x, x) y = Add <broadcast = 1, axis = 1> (a, b) }",
            "g (float[1, 2, 4, 4] x, float[2] b) => (float[1, 2, 4, 4] y) <int64[2] y_unsqueeze_axes = {1, 2}> {"
            " a = Add (x, x) [y_unsqueeze] y_unsqueeze = Unsqueeze (b, y_unsqueeze_axes) y = Add (a, y_unsqueeze) }");
}

TEST_CASE("statistics per element are those of a matrix of [batch, all other elements]") {
  CheckLift(7, 9,
            "g (float[N, 2, 3] x, float[2, 3] s) => (float[N, 2, 3] y) {"
            " y = BatchNormalization <spatial = 0> (x, s, s, s, s) }",
            "g (float[N, 2, 3] x, float[2, 3] s) => (float[N, 2, 3] y) <int64[1] y_flat = {-1}> {"
            "[y_shape] y_shape = Shape (x) [y_flatten] y_flatten = Flatten (x)"
            "[y_reshape] y_reshape = Reshape (s, y_flat) [y_reshape_1] y_reshape_1 = Reshape (s, y_flat)"
            "[y_reshape_2] y_reshape_2 = Reshape (s, y_flat) [y_reshape_3] y_reshape_3 = Reshape (s, y_flat)"
            "y_rows = BatchNormalization (y_flatten, y_reshape, y_reshape_1, y_reshape_2, y_reshape_3)"
            "[y_reshape_4] y = Reshape (y_rows, y_shape) }");
}

TEST_CASE("a batch normalization that trains says so by an attribute, and gives nothing that nobody reads") {
  CheckLift(9, 15,
            "g (float[1, 2, 4] x, float[2] s) => (float[1, 2, 4] y, float[2] m) {"
            " y, m, v, sm, sv = BatchNormalization (x, s, s, s, s) }",
            "g (float[1, 2, 4] x, float[2] s) => (float[1, 2, 4] y, float[2] m) {"
            " y, m, v = BatchNormalization <training_mode: int = 1> (x, s, s, s, s) }");
}

TEST_CASE("a dimension that may be zero stops at 13 alone: Reshape takes it literally from 14 on") {
  const absl::string_view model = "g (float[A, B, C] x) => (float[A, B, C] y) { y = Softmax (x) }";
  CheckStop(11, 13, 12, "Softmax#0 (Softmax) at opset 13: its new form takes what only opset 14 has", model);
  CheckLift(11, 14, model,
            "g (float[A, B, C] x) => (float[A, B, C] y) {"
            "[y_flatten] y_flatten = Flatten <axis: int = 1> (x) [y_shape] y_shape = Shape (x)"
            "y_rows = Softmax <axis: int = -1> (y_flatten)"
            "[y_reshape] y = Reshape <allowzero: int = 1> (y_rows, y_shape) }");
  CheckLift(11, 13, "g (float[A, B, 4] x) => (float[A, B, 4] y) { y = Softmax (x) }",
            "g (float[A, B, 4] x) => (float[A, B, 4] y) {"
            "[y_flatten] y_flatten = Flatten <axis: int = 1> (x) [y_shape] y_shape = Shape (x)"
            "y_rows = Softmax <axis: int = -1> (y_flatten) [y_reshape] y = Reshape (y_rows, y_shape) }");
}

TEST_CASE("a node that passes 13 alone does not stop there because another one does") {
  CheckStop(11, 22, 12, "Softmax#0 (Softmax) at opset 13: its new form takes what only opset 14 has",
            "g (float[A, B, C] x, float[2, 2, 2] s) => (float[A, B, C] y, float[2, 2, 2] z, float[2] u) <float[2] w = "
            "{1, 1}> {"
            " y = Softmax (x) z, m, v, sm, sv = BatchNormalization (s, w, w, w, w) u = Neg (sm) }");
}

TEST_CASE("softmax over the last dimension, or over one long one, needs no other operator") {
  CheckLift(11, 13, "g (float[2, 3] x) => (float[2, 3] y) { y = Softmax (x) }",
            "g (float[2, 3] x) => (float[2, 3] y) { y = Softmax <axis: int = -1> (x) }");
  CheckLift(11, 13, "g (float[N, 3, 1, 1] x) => (float[N, 3, 1, 1] y) { y = Softmax <axis = 1> (x) }",
            "g (float[N, 3, 1, 1] x) => (float[N, 3, 1, 1] y) { y = Softmax <axis: int = 1> (x) }");
}

TEST_CASE("softmax over several dimensions goes through a matrix; outputs and readers see the value they saw") {
  CheckLift(11, 22, "g (float[2, 3, 4] x) => (float[2, 3, 4] y, float[2, 3, 4] z) { y = Softmax (x) z = Relu (y) }",
            "g (float[2, 3, 4] x) => (float[2, 3, 4] y, float[2, 3, 4] z) {"
            "[y_flatten] y_flatten = Flatten <axis: int = 1> (x)"
            "[y_shape] y_shape = Shape (x)"
            "y_rows = Softmax <axis: int = -1> (y_flatten)"
            "[y_reshape] y = Reshape (y_rows, y_shape)"
            "z = Relu (y) }");
}

TEST_CASE("nearest resizing before version 11 looks down when it enlarges and up when it shrinks") {
  CheckLift(9, 13,
            "g (float[1, 1, 2, 2] x) => (float[1, 1, 4, 4] y) <float[4] s = {1, 1, 2, 2}> { y = Upsample (x, s) }",
            "g (float[1, 1, 2, 2] x) => (float[1, 1, 4, 4] y) <float[4] s = {1, 1, 2, 2}, float[0] y_roi = {}>"
            "{ y = Resize <coordinate_transformation_mode: string = \"asymmetric\", nearest_mode: string = \"floor\">"
            " (x, y_roi, s) }");
  CheckLift(10, 11,
            "g (float[1, 1, 4, 4] x) => (float[1, 1, 2, 2] y) <float[4] s = {1, 1, 0.5, 0.5}> { y = Resize (x, s) }",
            "g (float[1, 1, 4, 4] x) => (float[1, 1, 2, 2] y) <float[4] s = {1, 1, 0.5, 0.5}, float[0] y_roi = {}>"
            "{ y = Resize <coordinate_transformation_mode: string = \"asymmetric\", nearest_mode: string = \"ceil\">"
            " (x, y_roi, s) }");
}

TEST_CASE("the first node without an adapter stops the model, and nothing is edited") {
  CheckStop(
      11, 22, 12,
      "n (Resize) at opset 13: tf_half_pixel_for_nn coordinates have an equivalent only where nearest_mode is floor",
      "g (float[1, 1, 2, 2] x, float[8] r, float[4] s) => (float[1, 1, 4, 4] y) {"
      "[n] y = Resize <coordinate_transformation_mode = \"tf_half_pixel_for_nn\"> (x, r, s) }");
  CheckStop(9, 22, 12, "Erf#0 (Erf) at opset 13: version 13 does not take its types",
            "g (int32[2] x) => (int32[2] y) { y = Erf (x) }");
  CheckStop(12, 22, 12,
            "node 'Affine#0': ONNX has no Affine at opset 12, which the model imports, so it cannot be lifted",
            "g (float[2] x) => (float[2] y) { a = Relu (x) y = Affine (a) }");
  CheckStop(16, 22, 16,
            "node 'ln': ONNX has no RMSNormalization before opset 23 and the model imports 16, so it cannot be lifted",
            "g (float[2] x, float[2] s) => (float[2] y) { [ln] y = RMSNormalization (x, s) }");
  CheckStop(22, 26, 25, "opset 26 is newer than the adapters", "g (float[2] x) => (float[2] y) { y = Relu (x) }");
}

TEST_CASE("ONNX Runtime's LayerNormalization becomes ONNX's as it is") {
  CheckLift(16, 22, "g (float[2] x, float[2] s) => (float[2] y) { [ln] y = LayerNormalization (x, s) }",
            "g (float[2] x, float[2] s) => (float[2] y) { [ln] y = LayerNormalization (x, s) }");
}

TEST_CASE("an operator that ai.onnx has never had moves to the runtime's domain, and is known there") {
  const auto model = Parse(R"(<ir_version: 8, opset_import: ["" : 11, "com.microsoft" : 1]>
    g (float[1,2,4] x) => (float[1,2,4] y) { y = MultiHeadAttention <num_heads = 2> (x, x, x) })");
  REQUIRE_FALSE(model->node(NodeId(0)).Has(Role::kHeavy));
  REQUIRE(UnifyOpset(*model, 12));
  CHECK(model->node(NodeId(0)).domain() == "com.microsoft");
  CHECK(model->node(NodeId(0)).op_type() == "MultiHeadAttention");
  CHECK(model->node(NodeId(0)).Has(Role::kHeavy));
}

TEST_CASE("a node that lacks what its schema demands is not touched") {
  CheckStop(9, 22, 9, "TopK#0 (TopK) at opset 10: its attribute k is missing or of the wrong kind",
            "g (float[4] x) => (float[2] y, int64[2] i) { y, i = TopK (x) }");
  CheckStop(9, 22, 9, "Slice#0 (Slice) at opset 10: its attribute starts is missing or of the wrong kind",
            "g (float[4] x) => (float[2] y) { y = Slice <starts = 1, ends = [2]> (x) }");
  CheckStop(10, 22, 10, "Resize#0 (Resize) at opset 11: its number of inputs or outputs is wrong",
            "g (float[4] x) => (float[4] y) { y = Resize (x) }");
}

TEST_CASE("every row joins two neighbouring versions, once, and rows without an edit add nothing that needs one") {
  std::set<std::tuple<std::string, int, int>> seen;
  for (const OpsetStep& step : OpsetSteps()) {
    INFO(std::string(step.op_type) << " " << step.from << " " << step.to);
    CHECK(seen.insert({std::string(step.op_type), step.from, step.to}).second);
    const OpSchema* older = FindOpSchema("", step.op_type, step.to - 1);
    const OpSchema* newer = FindOpSchema("", step.op_type, step.to);
    REQUIRE(older != nullptr);
    REQUIRE(newer != nullptr);
    CHECK(older->since_version() == step.from);
    CHECK(newer->since_version() == step.to);
    CHECK(step.to <= NewestAdaptedOpset());
    if (step.edit != nullptr) continue;
    CHECK_FALSE(newer->deprecated());
    for (const auto& [name, attribute] : newer->onnx()->attributes()) {
      const bool old = older->onnx()->attributes().count(name) != 0;
      CHECK((old || !attribute.required));
    }
    // An attribute that disappears may do so unseen only if nobody can have set it: there is none such.
    for (const auto& [name, attribute] : older->onnx()->attributes())
      CHECK(newer->onnx()->attributes().count(name) != 0);
  }
}

// Returns the first difference in form between two versions in the registry, or "" for a step that only widens types.
std::string DiffersInForm(const onnx::OpSchema& older, const onnx::OpSchema& newer) {
  if (newer.deprecated() && !older.deprecated()) return "deprecated";
  for (const auto& [name, a] : older.attributes()) {
    const auto it = newer.attributes().find(name);
    if (it == newer.attributes().end()) return absl::StrCat("attribute ", name, " is gone");
    if (a.type != it->second.type) return absl::StrCat("attribute ", name, " is of another kind");
    if (a.required != it->second.required) return absl::StrCat("attribute ", name, " is required or no longer");
    const std::string before = a.default_value.SerializeAsString(),
                      after = it->second.default_value.SerializeAsString();
    if (before != after) return absl::StrCat("attribute ", name, " has another default");
  }
  for (const auto& [name, a] : newer.attributes()) {
    if (older.attributes().count(name) == 0) return absl::StrCat("attribute ", name, " is new");
  }
  for (const auto ports : {&onnx::OpSchema::inputs, &onnx::OpSchema::outputs}) {
    const auto &before = (older.*ports)(), &after = (newer.*ports)();
    if (before.size() != after.size()) return "another number of inputs or outputs";
    for (size_t i = 0; i < before.size(); ++i) {
      const bool same = before[i].GetOption() == after[i].GetOption() &&
                        before[i].GetIsHomogeneous() == after[i].GetIsHomogeneous() &&
                        before[i].GetMinArity() == after[i].GetMinArity();
      if (!same) return absl::StrCat(before[i].GetName(), " is optional, variadic or no longer");
      for (const auto& type : before[i].GetTypes()) {
        if (after[i].GetTypes().count(type) == 0) return absl::StrCat(before[i].GetName(), " loses ", *type);
      }
    }
  }
  return "";
}

// Steps that differ in form and have no row, each with the reason.
struct WithoutAdapter {
  absl::string_view op_type;
  int from, to;
  absl::string_view why;
};
constexpr WithoutAdapter kWithoutAdapter[] = {
    {"Erf", 9, 13, "drops integers, whose error function means nothing; floating-point nodes pass"},
};

TEST_CASE("every step that differs in form in ONNX's registry has a row, or a reason why not") {
  std::set<std::tuple<std::string, int, int>> explained, differing;
  for (const OpsetStep& step : OpsetSteps()) explained.insert({std::string(step.op_type), step.from, step.to});
  for (const WithoutAdapter& step : kWithoutAdapter) {
    CHECK(explained.insert({std::string(step.op_type), step.from, step.to}).second);
  }
  for (const std::string& op_type : RegisteredOperators("")) {
    for (int opset = 2; opset <= NewestAdaptedOpset(); ++opset) {
      const OpSchema *older = FindOpSchema("", op_type, opset - 1), *newer = FindOpSchema("", op_type, opset);
      if (older == nullptr || older == newer) continue;
      REQUIRE(newer != nullptr);
      const std::tuple step{op_type, older->since_version(), newer->since_version()};
      const std::string difference = DiffersInForm(*older->onnx(), *newer->onnx());
      INFO(op_type << " " << older->since_version() << " -> " << newer->since_version() << ": " << difference);
      if (!difference.empty()) differing.insert(step);
      CHECK((difference.empty() || explained.count(step) == 1));
    }
  }
  for (const WithoutAdapter& step : kWithoutAdapter) {
    CHECK(differing.count({std::string(step.op_type), step.from, step.to}) == 1);
  }
  CHECK(differing.size() > 100);
}

}  // namespace
}  // namespace amp
