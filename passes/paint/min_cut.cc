#include "passes/paint/min_cut.h"

#if defined(__GNUC__) && !defined(__clang__)  // gcc 12 takes Boost's iterator over all edges for uninitialized
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/boykov_kolmogorov_max_flow.hpp>
#include <utility>

#include "ir/base/check.h"

namespace amp {
namespace {

using Traits = boost::adjacency_list_traits<boost::vecS, boost::vecS, boost::directedS>;
struct EdgeState {
  int64_t capacity = 0, residual = 0;
  Traits::edge_descriptor reverse;
};
struct NodeState {
  boost::default_color_type color = boost::white_color;
  int64_t distance = 0;
  Traits::edge_descriptor predecessor;
};
using FlowGraph = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS, NodeState, EdgeState>;

}  // namespace

void MinCut::AddArc(CutNode from, CutNode to, int64_t capacity) {
  AMP_CHECK(capacity >= 0);
  if (from != to && capacity > 0 && from != sink() && to != source()) arcs_.push_back({from, to, capacity});
}

// The algorithm takes no parallel arcs: those of a pair of nodes, both ways, become one edge and its reverse.
int64_t MinCut::Solve() {
  const auto ends = [](const Arc& arc) { return std::pair<CutNode, CutNode>(std::minmax(arc.from, arc.to)); };
  std::sort(arcs_.begin(), arcs_.end(), [&](const Arc& a, const Arc& b) { return ends(a) < ends(b); });
  FlowGraph graph(num_nodes_);
  for (size_t i = 0; i < arcs_.size();) {
    const auto [low, high] = ends(arcs_[i]);
    int64_t up = 0, down = 0;
    for (; i < arcs_.size() && ends(arcs_[i]) == std::pair(low, high); ++i) {
      int64_t& sum = arcs_[i].from == low ? up : down;
      sum = std::min(sum + arcs_[i].capacity, kInfinite);
    }
    const auto there = boost::add_edge(low.index(), high.index(), EdgeState{up, 0, {}}, graph).first;
    const auto back = boost::add_edge(high.index(), low.index(), EdgeState{down, 0, {}}, graph).first;
    graph[there].reverse = back;
    graph[back].reverse = there;
  }
  const int64_t flow = boost::boykov_kolmogorov_max_flow(
      graph, get(&EdgeState::capacity, graph), get(&EdgeState::residual, graph), get(&EdgeState::reverse, graph),
      get(&NodeState::predecessor, graph), get(&NodeState::color, graph), get(&NodeState::distance, graph),
      get(boost::vertex_index, graph), source().index(), sink().index());
  is_on_source_side_.resize(num_nodes_);
  for (const CutNode node : is_on_source_side_.ids()) {
    is_on_source_side_[node] = graph[node.index()].color == boost::black_color;
  }
  int64_t cut = 0;
  for (const Arc& arc : arcs_) {
    if (IsOnSourceSide(arc.from) && !IsOnSourceSide(arc.to)) cut += arc.capacity;
  }
  AMP_CHECK(cut == flow);
  return flow;
}

}  // namespace amp
