#include "ir/operators/operator_roles.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "ir/graph/infer.h"
#include "ir/operators/integer_bounds.h"
#include "ir/operators/operator_facts.h"
#include "ir/schema/operator_table.h"
#include "ir/schema/schema.h"
#include "onnx/defs/schema.h"
#include "tests/catch2.h"
#include "tests/model_from_text.h"

namespace amp {
namespace {

TEST_CASE("every operator of the table exists, once, and says something") {
  std::set<std::pair<absl::string_view, absl::string_view>> seen;
  for (const Operator& row : OperatorTable()) {
    INFO(row.domain << "::" << row.name);
    const std::vector<std::string>& known = RegisteredOperators(row.domain);
    if (row.domain.empty()) CHECK(std::binary_search(known.begin(), known.end(), row.name));
    CHECK(seen.emplace(row.domain, row.name).second);
    CHECK(&FindOperator(row.domain, row.name) == &row);
    CHECK((!row.roles.IsEmpty() || row.addends != 0 || row.type_attribute.form != TypeAttribute::Form::kNone ||
           row.control_flow != ControlFlowKind::kNone));
  }
  CHECK(FindOperator("", "Sinus").roles.IsEmpty());
  CHECK(FindOperator("com.microsoft", "Sin").roles.IsEmpty());
}

TEST_CASE("the attributes that choose types exist") {
  for (const Operator& row : OperatorTable()) {
    if (row.type_attribute.form == TypeAttribute::Form::kNone) continue;
    INFO(row.name);
    const std::string name(row.type_attribute.name);
    CHECK(FindOpSchema(row.domain, row.name, NewestOpset())->onnx()->attributes().count(name) == 1);
  }
}

TEST_CASE("addends are inputs that the operators have") {
  for (const Operator& row : OperatorTable()) {
    if (row.addends == 0 || !row.domain.empty()) continue;
    INFO(row.name);
    const int num_inputs = FindOpSchema(row.domain, row.name, NewestOpset())->num_inputs();
    CHECK((row.addends >> num_inputs) == 0);
    CHECK((row.addends & 1u) == 0);  // that is what they are added to
  }
}

TEST_CASE("a plain cast is a Cast with one value in and one out, and no call of a function") {
  const auto plain = [](const char* text) {
    const auto model = GraphFromText(text);
    return IsPlainCast(*model, NodeId(0));
  };
  CHECK(plain(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[2] x) => (float16[2] y) { y = Cast <to = 10> (x) })"));
  CHECK_FALSE(plain(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[2] x, float16[2] t) => (float16[2] y) { y = CastLike (x, t) })"));
  CHECK_FALSE(plain(R"(<ir_version: 8, opset_import: ["" : 17, "custom" : 1]>
    g (float[2] x) => (float16[2] y) { y = custom.Cast <to = 10> (x) })"));
  CHECK_FALSE(plain(R"(<ir_version: 8, opset_import: ["" : 17, "ai.onnx" : 17]>
    g (float[2] x) => (float16[2] y) { y = Cast <to = 10> (x) }
    <domain: "ai.onnx", opset_import: ["" : 17]> Cast (x) => (y) { y = Identity (x) })"));
}

TEST_CASE("operators of other domains have no role") {
  const auto model = GraphFromText(R"(<ir_version: 8, opset_import: ["" : 17, "custom" : 1]>
    g (float[2] x) => (float[2] y, float[2] z) { y = Sin (x)  z = custom.Sin (x) })");
  CHECK(RolesOf(*model, NodeId(0)).Has(Role::kPeriodic));
  CHECK(RolesOf(*model, NodeId(1)).IsEmpty());
}

TEST_CASE("squares and roots in all their forms") {
  const auto model = GraphFromText(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[2] x, float[2] z) => (float[2] a, float[2] b, float[2] c, float[1] d, float[2] e, float[2] f)
    <float two = {2}, float half = {-0.5}> {
      a = Mul (x, x)  b = Pow (x, two)  c = Mul (x, z)  d = ReduceL2 (x)  e = Sqrt (x)  f = Pow (x, half) })");
  const ValueId x = model->node(NodeId(0)).inputs[0];
  CHECK(SquaredValue(*model, NodeId(0)) == x);
  CHECK(SquaredValue(*model, NodeId(1)) == x);
  CHECK(SquaredValue(*model, NodeId(2)) == kNone);
  CHECK(SquaredValue(*model, NodeId(3)) == x);
  CHECK(SquaredValue(*model, NodeId(5)) == kNone);
  CHECK_FALSE(TakesRoot(*model, NodeId(1)));
  CHECK(TakesRoot(*model, NodeId(4)));
  CHECK(TakesRoot(*model, NodeId(5)));
}

TEST_CASE("how many elements are summed") {
  const auto model = GraphFromText(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[n, 4, 8, 16] x, int64[1] unknown)
      => (float a, float b, float[n, 4, 8, 1] c, float d, float[n, 4, 8, 16] e, float f, float[n, 4, 1, 1] h, float i)
    <int64[2] axes = {1, -1}> {
      a = ReduceMean (x)
      b = ReduceMean <axes = [1, -1]> (x)
      c = ReduceSum (x, axes)
      d = ReduceSum (x, unknown)
      e = ReduceSum <noop_with_empty_axes = 1> (x)
      f = AveragePool <kernel_shape = [3, 3]> (x)
      h = GlobalAveragePool (x)
      i = ReduceMax (x)
    })");
  const IdVector<NodeId, int64_t> expected = {-1, 64, 64, -1, 1, 9, 128, -1};
  for (const NodeId id : model->AllNodes()) {
    INFO(id.index());
    CHECK(SummedElements(*model, id) == expected[id]);
  }
}

// The bound of the value `name` of a model's main graph.
double BoundOf(Model& model, const std::string& name) {
  InferTypes(model);
  return IntegerBounds(model, model.NodesInOrder(kMainGraph)).Of(model.graph(kMainGraph).names.at(name));
}

TEST_CASE("bounds of integers from types, shapes and constants") {
  const std::string text = R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[n, 3, 224] x, int64[2] ids, uint8[2] bytes, bool[2] flags) => (int64[3] shape)
    <int64 one = {1}, int64 seven = {7}, int64 last = {-1}, int64 first = {0}, int64[3] table = {5, -40, 3}, int64[1] k = {2}> {
      shape = Shape (x)
      width = Gather (shape, last)
      batch = Gather (shape, first)
      wide = Mul (width, seven)
      both = Add (wide, one)
      half = Div (both, seven)
      row = Range (first, width, one)
      best = ArgMax <axis = 1> (x)
      counted = Cast <to = 7> (flags)
      byte = Cast <to = 7> (bytes)
      looked_up = Gather (table, ids)
      truncated = Cast <to = 7> (x)
      shifted = Add (ids, one)
      chosen = Where (flags, width, seven)
      limited = Clip (ids, first, seven)
      none = Mul (first, ids)
      top, at = TopK (shape, k)
    })";
  const auto model = GraphFromText(text);
  const double unknown = std::numeric_limits<double>::infinity();
  const std::vector<std::pair<std::string, double>> expected = {
      {"shape", unknown},   {"width", 224},  {"batch", unknown}, {"wide", 1568},
      {"both", 1569},       {"half", 1569},  {"row", 224},       {"best", 2},
      {"counted", 1},       {"byte", 255},   {"looked_up", 40},  {"truncated", unknown},
      {"shifted", unknown}, {"chosen", 224}, {"limited", 7},     {"none", 0},
      {"top", unknown},     {"at", 2}};
  for (const auto& [name, bound] : expected) {
    INFO(name);
    CHECK(BoundOf(*model, name) == bound);
  }
}

}  // namespace
}  // namespace amp
