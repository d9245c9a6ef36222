#include "passes/paint/place_by_cut.h"

#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ir/graph/infer.h"
#include "ir/graph/shape.h"
#include "passes/paint/traffic.h"
#include "tests/catch2.h"
#include "tests/model_from_text.h"

namespace amp {
namespace {

using Sides = IdVector<VertexId, Side>;

std::string Zeros(int count) { return absl::StrJoin(std::vector<int>(static_cast<size_t>(count)), ", "); }

// Relu, Add, Concat and ReduceSum over vectors of several lengths, and constants.
std::string RandomModel(std::mt19937& random) {
  const auto below = [&](size_t limit) { return random() % limit; };
  struct Named {
    std::string name;
    size_t size;
  };
  std::vector<Named> values = {{"x0", 3}, {"x1", 400}, {"w0", 3}, {"w1", 400}};
  std::vector<std::string> nodes, outputs;
  const size_t num_nodes = 2 + below(7);
  for (size_t i = 0; i < num_nodes; ++i) {
    const Named a = values[below(values.size())], b = values[below(values.size())];
    const std::string out = absl::StrCat("v", i);
    switch (below(4)) {
      case 0:
        nodes.push_back(absl::StrCat(out, " = Concat <axis = 0> (", a.name, ", ", b.name, ")"));
        values.push_back({out, a.size + b.size});
        break;
      case 1:
        nodes.push_back(absl::StrCat(out, " = ReduceSum <keepdims = 1> (", a.name, ")"));
        values.push_back({out, 1});
        break;
      case 2:
        nodes.push_back(absl::StrCat(out, " = Add (", a.name, ", ", a.size == b.size ? b.name : a.name, ")"));
        values.push_back({out, a.size});
        break;
      default:
        nodes.push_back(absl::StrCat(out, " = Relu (", a.name, ")"));
        values.push_back({out, a.size});
    }
    if (i + 1 == num_nodes || below(4) == 0) outputs.push_back(absl::StrCat("float[", values.back().size, "] ", out));
  }
  return absl::StrCat("<ir_version: 9, opset_import: [\"\" : 17]>\ng (float[3] x0, float[400] x1) => (",
                      absl::StrJoin(outputs, ", "), ")\n<float[3] w0 = {", Zeros(3), "}, float[400] w1 = {", Zeros(400),
                      "}> {\n", absl::StrJoin(nodes, "\n"), "\n}");
}

// Returns the cost of an assignment, as the head of place_by_cut.h defines it, in sixteenths of a byte.
int64_t CostOf(const Model& model, const VertexGraph& graph, const Sides& sides, const IdVector<VertexId, bool>& low) {
  int64_t cost = 0;
  const auto price = [&](VertexId v, int64_t elements) {
    if (v != kNone && sides[v] == Side::kFree && !low[v]) cost += elements * 2 * 16;
  };
  for (const VertexId v : graph.ids()) cost += sides[v] == Side::kFree && low[v] ? 1 : 0;
  for (const NodeId id : model.AllNodes()) {
    const Node& node = model.node(id);
    const int64_t written = NumElements(model, node.Output(0));
    price(graph.OfOutput(id, 0), written);
    for (size_t port = 0; port < node.inputs.size(); ++port) {
      const int64_t read = NumElements(model, node.Input(port));
      price(graph.OfInput(id, port), node.op_type() == "Concat" ? std::min(read, written) : read);
    }
  }
  for (const ValueId id : model.AllValues()) {
    const Value& value = model.value(id);
    bool any_low = false, any_high = false;
    for (const Use& use : value.uses) {
      const VertexId reader = graph.OfUse(use);
      const bool reads_low = reader != kNone && low[reader];
      (reads_low ? any_low : any_high) = true;
    }
    const int64_t elements = NumElements(model, id), cast = elements * 6 * 16 + 256 * 16;
    const VertexId producer = graph.OfValue(id);
    if (model.IsConstant(id)) {
      cost += ((any_low ? 2 : 0) + (any_high ? 4 : 0)) * elements * 16 / 8;
    } else if (producer != kNone && sides[producer] == Side::kCast) {
      cost += any_low && any_high ? cast : 0;
    } else {
      const bool is_low = producer != kNone && low[producer];
      cost += (is_low ? any_high : any_low) ? cast : 0;
    }
  }
  return cost;
}

// How many casts an assignment needs.
int64_t NumCasts(const Model& model, const VertexGraph& graph, const Sides& sides,
                 const IdVector<VertexId, bool>& low) {
  int64_t casts = 0;
  for (const ValueId id : model.AllValues()) {
    if (model.IsConstant(id)) continue;
    bool any_low = false, any_high = false;
    for (const Use& use : model.value(id).uses) {
      const VertexId reader = graph.OfUse(use);
      (reader != kNone && low[reader] ? any_low : any_high) = true;
    }
    const VertexId producer = graph.OfValue(id);
    const bool gives_either = producer != kNone && sides[producer] == Side::kCast;
    const bool is_low = producer != kNone && low[producer];
    casts += (gives_either ? any_low && any_high : is_low ? any_high : any_low) ? 1 : 0;
  }
  return casts;
}

TEST_CASE("random graphs: no assignment of the free vertices costs less, and none that does not has fewer low") {
  std::mt19937 random(7);
  size_t num_open = 0;
  for (int round = 0; round < 400; ++round) {
    const std::string text = RandomModel(random);
    const auto model = GraphFromText(text);
    InferTypes(*model);
    const VertexGraph graph(*model, DType::kFloat16);
    Sides sides(graph.size());
    std::vector<VertexId> open;
    for (const VertexId v : graph.ids()) {
      sides[v] = static_cast<Side>(std::vector<int>{0, 0, 0, 0, 1, 1, 2, 3}[random() % 8]);
      if (sides[v] == Side::kFree) open.push_back(v);
    }
    if (open.size() > 14) continue;
    num_open += open.size();
    const Placement placement = PlaceByCut(*model, graph, sides, {false, false}, std::vector<bool>(9));
    const Placement fewest =
        PlaceByCut(*model, graph, sides, {false, false}, std::vector<bool>(9), CutGoal::kFewestCasts);
    IdVector<VertexId, bool> low(graph.size());
    for (const VertexId v : graph.ids()) low[v] = sides[v] == Side::kLow;
    int64_t best = INT64_MAX, best_high = 0, fewest_casts = INT64_MAX;
    for (size_t bits = 0; bits < size_t{1} << open.size(); ++bits) {
      for (size_t i = 0; i < open.size(); ++i) low[open[i]] = (bits >> i & 1) != 0;
      best = std::min(best, CostOf(*model, graph, sides, low));
      fewest_casts = std::min(fewest_casts, NumCasts(*model, graph, sides, low));
      if (bits == 0) best_high = best;
    }
    INFO(text);
    REQUIRE(CostOf(*model, graph, sides, placement.low) == best);
    REQUIRE(NumCasts(*model, graph, sides, fewest.low) == fewest_casts);
    REQUIRE(placement.cost_high - placement.cost == best_high / 16 - best / 16);
    for (const VertexId v : open) {
      IdVector<VertexId, bool> flipped = placement.low;
      flipped[v] = !flipped[v];
      REQUIRE(placement.gain[v] == (CostOf(*model, graph, sides, flipped) - best + 8) / 16);
      if (placement.low[v]) REQUIRE(CostOf(*model, graph, sides, flipped) > best);
    }
  }
  CHECK(num_open > 1000);
}

TEST_CASE("a large table that is read in both types is stored once, and its rows are cast") {
  const auto is_low = [](int rows) {
    const auto model = GraphFromText(absl::StrCat(R"(<ir_version: 9, opset_import: ["" : 17]>
      g (int64[2] ids, float[2,)",
                                                  rows, R"(] x) => (float[2,4] y, float[2,4] z) <float[)", rows,
                                                  ",4] table = {", Zeros(4 * rows), R"(}> {
        a = Gather (table, ids)  y = Exp (a)  z = MatMul (x, table) })"));
    InferTypes(*model);
    const VertexGraph graph(*model, DType::kFloat16);
    Sides sides(graph.size(), Side::kHigh);
    const VertexId gather = graph.OfOutput(NodeId(0), 0);
    sides[gather] = Side::kFree;
    sides[graph.OfOutput(NodeId(2), 0)] = Side::kLow;
    return bool{PlaceByCut(*model, graph, sides, {false, false}, {false, false}).low[gather]};
  };
  CHECK_FALSE(is_low(16));
  CHECK(is_low(400));
}

TEST_CASE("what a Reshape reads and gives counts as the better known of the two, and so on along a chain") {
  const auto model = GraphFromText(R"(<ir_version: 9, opset_import: ["" : 17]>
    g (float[4, 6] x, int64[K] shape, float[N] other) => (float[A, B] y, float[M] z) {
      a = Relu (x)  b = Reshape (a, shape)  c = Transpose (b)  y = Neg (c)
      d = Neg (other)  e = Expand (d, shape)  f = Reshape (e, shape)  z = Reshape (f, shape) })");
  InferTypes(*model);
  const Traffic traffic(*model, VertexGraph(*model, DType::kFloat16).order());
  const auto given = [&](size_t node) { return traffic.Elements(model->node(NodeId(node)).Output(0)); };
  for (const size_t node : {0u, 1u, 2u, 3u}) CHECK(given(node) == 24);
  CHECK(given(4) == 32);
  CHECK(given(5) == given(7));
  CHECK_FALSE(traffic.knows_all_sizes());
}

TEST_CASE("a Concat gives as much as it reads, whatever is known of its result") {
  const auto model = GraphFromText(R"(<ir_version: 9, opset_import: ["" : 17]>
    g (float[4, 50] x, float[4, 25] z, int64[K] shape) => (float[A, B, C] y) {
      a = Reshape (x, shape)  b = Reshape (z, shape)  y = Concat <axis = 1> (a, b) })");
  InferTypes(*model);
  const Traffic traffic(*model, VertexGraph(*model, DType::kFloat16).order());
  CHECK(traffic.Elements(model->node(NodeId(2)).Output(0)) == 300);
  CHECK(traffic.knows_all_sizes());
}

TEST_CASE("dimensions that are not known count the same everywhere") {
  const auto model = GraphFromText(R"(<ir_version: 9, opset_import: ["" : 17]>
    g (float[N, 8] x) => (float[N, 8] y) { a = Relu (x)  b = Tanh (a)  c = Sigmoid (b)  y = Exp (c) })");
  InferTypes(*model);
  const VertexGraph graph(*model, DType::kFloat16);
  const Sides sides(graph.size(), Side::kFree);
  const Placement placement = PlaceByCut(*model, graph, sides, {false}, {false});
  CHECK_FALSE(placement.knows_all_sizes);
  CHECK(placement.cost_high - placement.cost == 32 * 8 * (16 - 12) - 2 * 256);  // two casts for eight ports
  for (const VertexId v : graph.ids()) CHECK(placement.low[v]);
}

}  // namespace
}  // namespace amp
