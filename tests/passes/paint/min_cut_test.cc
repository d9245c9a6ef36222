#include "passes/paint/min_cut.h"

#include <random>
#include <vector>

#include "tests/catch2.h"

namespace amp {
namespace {

struct Arc {
  size_t from, to;
  int64_t capacity;
};

// The least cost of all assignments, and the nodes that are on the source's side in every assignment of that cost.
struct BruteForce {
  int64_t cost = 0;
  size_t smallest_side = 0;  // as bits
};
BruteForce TryAll(size_t num_nodes, const std::vector<Arc>& arcs) {
  BruteForce best{INT64_MAX, 0};
  for (size_t side = 0; side < size_t{1} << num_nodes; ++side) {
    if ((side & 1) == 0 || (side & 2) != 0) continue;  // node 0 is the source, 1 the sink
    int64_t cost = 0;
    for (const Arc& arc : arcs) {
      if ((side >> arc.from & 1) != 0 && (side >> arc.to & 1) == 0) cost += arc.capacity;
    }
    if (cost == best.cost) best.smallest_side &= side;
    if (cost < best.cost) best = {cost, side};
  }
  return best;
}

TEST_CASE("without arcs nothing is on the source's side but the source") {
  MinCut cut;
  const CutNode a = cut.AddNode();
  CHECK(cut.Solve() == 0);
  CHECK(cut.IsOnSourceSide(MinCut::source()));
  CHECK_FALSE(cut.IsOnSourceSide(a));
}

TEST_CASE("a tie leaves a node on the sink's side") {
  MinCut cut;
  const CutNode a = cut.AddNode(), b = cut.AddNode();
  cut.AddArc(MinCut::source(), a, 5);
  cut.AddArc(a, MinCut::sink(), 5);
  cut.AddArc(MinCut::source(), b, 5);
  cut.AddArc(b, MinCut::sink(), 4);
  CHECK(cut.Solve() == 9);
  CHECK_FALSE(cut.IsOnSourceSide(a));
  CHECK(cut.IsOnSourceSide(b));
}

TEST_CASE("parallel arcs add up, infinite ones too") {
  MinCut cut;
  const CutNode a = cut.AddNode(), b = cut.AddNode();
  for (int i = 0; i < 9; ++i) {
    cut.AddArc(MinCut::source(), a, 1);
    cut.AddArc(a, b, MinCut::kInfinite);
  }
  cut.AddArc(b, MinCut::sink(), 8);
  CHECK(cut.Solve() == 8);
  CHECK(cut.IsOnSourceSide(a));
  CHECK(cut.IsOnSourceSide(b));
}

TEST_CASE("random graphs: the cost is the least of all assignments, the source's side the smallest") {
  std::mt19937 random(1);
  const auto below = [&](size_t limit) { return random() % limit; };
  for (int round = 0; round < 2000; ++round) {
    const size_t num_nodes = 3 + below(8);
    std::vector<Arc> arcs;
    for (size_t i = below(3 * num_nodes); i > 0; --i) {
      arcs.push_back({below(num_nodes), below(num_nodes), static_cast<int64_t>(below(6))});
    }
    MinCut cut;
    for (size_t i = 2; i < num_nodes; ++i) cut.AddNode();
    for (const Arc& arc : arcs) cut.AddArc(CutNode(arc.from), CutNode(arc.to), arc.capacity);
    const BruteForce best = TryAll(num_nodes, arcs);
    INFO("round " << round);
    REQUIRE(cut.Solve() == best.cost);
    size_t side = 0;
    for (size_t i = 0; i < num_nodes; ++i) side |= size_t{cut.IsOnSourceSide(CutNode(i))} << i;
    REQUIRE(side == best.smallest_side);
  }
}

}  // namespace
}  // namespace amp
