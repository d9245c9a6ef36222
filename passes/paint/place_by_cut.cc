#include "passes/paint/place_by_cut.h"

#include <algorithm>
#include <optional>

#include "absl/container/flat_hash_set.h"
#include "ir/base/saturated.h"
#include "ir/operators/operator_facts.h"
#include "passes/paint/min_cut.h"
#include "passes/paint/traffic.h"

namespace amp {
namespace {

constexpr int64_t kBytesLow = 2, kBytesHigh = 4;
constexpr int64_t kBytesSaved = kBytesHigh - kBytesLow;
constexpr int64_t kBytesCast = kBytesHigh + kBytesLow;
constexpr int64_t kCastOverhead = 256;  // in bytes: a cast of one element is not free
constexpr int64_t kRunsPerLoad = 8;     // a constant is stored and loaded once for so many runs
constexpr size_t kManyReaders = 256;
constexpr int64_t kScale = 16;         // costs are in sixteenths of a byte,
constexpr int64_t kRoundingPrice = 1;  // so that a rounding costs less than any byte

// The cost of a value, by the types of its producer and its readers.
struct ValueTerm {
  std::optional<CutNode> producer;  // none: it is there in whatever type is wanted
  std::vector<CutNode> readers;     // each once
  int64_t cast = 0;                 // for readers of the type that is not produced
  int64_t low_copy = 0;             // without a producer: to have it low, to have it float32,
  int64_t high_copy = 0;
  int64_t both = 0;  // and what comes on top of that for having both

  int64_t Cost(bool producer_low, size_t num_low, size_t num_high) const {
    if (producer.has_value()) return (producer_low ? num_high : num_low) > 0 ? cast : 0;
    return (num_low > 0 ? low_copy : 0) + (num_high > 0 ? high_copy : 0) + (num_low > 0 && num_high > 0 ? both : 0);
  }
};

class Placer {
 public:
  Placer(const Model& model, const VertexGraph& graph, const IdVector<VertexId, Side>& sides, CutGoal goal)
      : model_(model), graph_(graph), sides_(sides), goal_(goal), traffic_(model, graph.order()), nodes_(graph.size()) {
    std::vector<std::optional<CutNode>> of_group(graph.num_groups());
    for (const VertexId v : graph.ids()) {
      if (sides[v] != Side::kFree) {
        nodes_[v] = sides[v] == Side::kLow ? MinCut::source() : MinCut::sink();
      } else if (const GroupId group = graph.GroupOf(v); group == kNone) {
        nodes_[v] = cut_.AddNode();
      } else {
        std::optional<CutNode>& node = of_group[group.index()];
        if (!node.has_value()) node = cut_.AddNode();
        nodes_[v] = *node;
      }
    }
    num_owners_ = cut_.num_nodes();
    saved_.resize(num_owners_);
    num_roundings_.resize(num_owners_);
  }

  Placement Place(const std::vector<bool>& released_inputs, const std::vector<bool>& released_outputs) {
    for (const VertexId v : graph_.ids()) {
      if (sides_[v] == Side::kFree) ++num_roundings_[nodes_[v]];
    }
    for (size_t i = 0; i < released_inputs.size(); ++i) {
      if (released_inputs[i]) released_.insert(model_.graph(kMainGraph).inputs[i]);
    }
    for (const NodeId id : graph_.order()) CountTraffic(id);
    for (const ValueId id : model_.AllValues()) AddValue(id, released_outputs);
    for (const CutNode node : saved_.ids()) {
      cut_.AddArc(MinCut::source(), node, saved_[node]);
      cut_.AddArc(node, MinCut::sink(), num_roundings_[node] * kRoundingPrice);
    }
    for (const ValueTerm& term : terms_) AddArcs(term);
    cut_.Solve();
    return Read();
  }

 private:
  bool IsLow(CutNode node) const { return cut_.IsOnSourceSide(node); }

  // Returns the bytes that the node would move less if its ports were low.
  void CountTraffic(NodeId id) {
    const Node& node = model_.node(id);
    int64_t written = 0;
    for (size_t port = 0; port < node.outputs.size(); ++port) {
      if (node.outputs[port] == kNone) continue;
      const int64_t elements = traffic_.Elements(node.outputs[port]);
      written = SaturatedSum(written, elements);
      Save(graph_.OfOutput(id, port), elements, node.graph);
    }
    for (size_t port = 0; port < node.inputs.size(); ++port) {
      if (node.inputs[port] == kNone || ReadsShapeAlone(node, port)) continue;
      const int64_t elements = traffic_.Elements(node.inputs[port]);
      // A Slice or a Gather reads what it gives.
      Save(graph_.OfInput(id, port), node.Has(Role::kMoves) ? std::min(elements, written) : elements, node.graph);
    }
  }
  int64_t Cost(int64_t elements, int64_t bytes_per_element, GraphId scope) const {
    if (goal_ == CutGoal::kFewestCasts) return 0;
    return traffic_.Bytes(elements, bytes_per_element, scope) * kScale;
  }
  int64_t CastCost(int64_t elements, GraphId scope) const {
    if (goal_ == CutGoal::kFewestCasts)
      return static_cast<int64_t>(graph_.size()) * kRoundingPrice + 1;  // more than all roundings
    return Cost(elements, kBytesCast, scope) + kCastOverhead * kScale;
  }
  void Save(VertexId v, int64_t elements, GraphId scope) {
    if (v != kNone && sides_[v] == Side::kFree) saved_[nodes_[v]] += Cost(elements, kBytesSaved, scope);
  }

  void AddValue(ValueId id, const std::vector<bool>& released_outputs) {
    const Value& value = model_.value(id);
    const bool is_erased = value.producer != kNone && model_.node(value.producer).erased;
    if (is_erased || !value.is_tensor || value.dtype != DType::kFloat32) return;
    ValueTerm term;
    const bool is_constant = model_.IsConstant(id);
    for (const Use& use : value.uses) {
      const VertexId reader = graph_.OfUse(use);
      if (use.IsModelOutput() && released_outputs[use.port]) continue;
      const bool reads_shape = !use.IsGraphOutput() && ReadsShapeAlone(model_.node(use.node), use.port);
      if (is_constant && reads_shape) continue;
      term.readers.push_back(reader == kNone ? MinCut::sink() : nodes_[reader]);
    }
    std::sort(term.readers.begin(), term.readers.end());
    term.readers.erase(std::unique(term.readers.begin(), term.readers.end()), term.readers.end());
    const int64_t elements = traffic_.Elements(id);
    const int64_t cast = CastCost(elements, value.graph);
    const VertexId producer = graph_.OfValue(id);
    if (is_constant) {
      term.low_copy = Cost(elements, kBytesLow, kMainGraph) / kRunsPerLoad;
      term.high_copy = Cost(elements, kBytesHigh, kMainGraph) / kRunsPerLoad;
    } else if (released_.contains(id) || (producer != kNone && sides_[producer] == Side::kCast)) {
      term.both = cast;
    } else {
      term.producer = producer == kNone ? MinCut::sink() : nodes_[producer];
      term.cast = cast;
    }
    terms_.push_back(std::move(term));
  }

  void AddArcs(const ValueTerm& term) {
    const auto is_open = [&](CutNode node) { return node != MinCut::source() && node != MinCut::sink(); };
    const bool is_settled = std::none_of(term.readers.begin(), term.readers.end(), is_open) &&
                            (!term.producer.has_value() || !is_open(*term.producer));
    // One cast more or less is nothing beside what so many readers move; searching around such a hub is quadratic.
    if (is_settled || term.readers.size() > kManyReaders) return;
    if (term.producer.has_value() && term.readers.size() == 1) {
      cut_.AddArc(*term.producer, term.readers[0], term.cast);
      cut_.AddArc(term.readers[0], *term.producer, term.cast);
      return;
    }
    const CutNode any_low = cut_.AddNode(), any_high = cut_.AddNode();  // on the source's side; on the sink's side
    for (const CutNode reader : term.readers) {
      cut_.AddArc(reader, any_low, MinCut::kInfinite);
      cut_.AddArc(any_high, reader, MinCut::kInfinite);
    }
    if (term.producer.has_value()) {
      cut_.AddArc(any_low, *term.producer, term.cast);
      cut_.AddArc(*term.producer, any_high, term.cast);
    } else {
      cut_.AddArc(any_low, MinCut::sink(), term.low_copy);
      cut_.AddArc(MinCut::source(), any_high, term.high_copy);
      cut_.AddArc(any_low, any_high, term.both);
    }
  }

  Placement Read() const {
    Placement placement;
    placement.knows_all_sizes = traffic_.knows_all_sizes();
    IdVector<CutNode, int64_t> flip(num_owners_);  // what it costs to have the node on the other side
    int64_t cost = 0, cost_high = 0;
    for (const CutNode node : saved_.ids()) {
      const int64_t price = num_roundings_[node] * kRoundingPrice;
      cost += IsLow(node) ? price : saved_[node];
      cost_high += saved_[node];
      flip[node] = IsLow(node) ? saved_[node] - price : price - saved_[node];
    }
    for (const ValueTerm& term : terms_) {
      size_t num_low = 0;
      bool any_source = false;
      for (const CutNode reader : term.readers) {
        num_low += IsLow(reader) ? 1 : 0;
        any_source |= reader == MinCut::source();
      }
      const size_t num_high = term.readers.size() - num_low;
      const bool is_low = term.producer.has_value() && IsLow(*term.producer);
      const int64_t now = term.Cost(is_low, num_low, num_high);
      cost += now;
      cost_high +=
          term.Cost(term.producer == MinCut::source(), any_source ? 1 : 0, term.readers.size() - (any_source ? 1 : 0));
      for (const CutNode reader : term.readers) {
        const bool with_producer = term.producer == reader;
        const size_t low = IsLow(reader) ? num_low - 1 : num_low + 1;
        flip[reader] += term.Cost(is_low != with_producer, low, term.readers.size() - low) - now;
      }
      const bool reads_itself =
          term.producer.has_value() && std::binary_search(term.readers.begin(), term.readers.end(), *term.producer);
      if (term.producer.has_value() && !reads_itself) {
        flip[*term.producer] += term.Cost(!is_low, num_low, num_high) - now;
      }
    }
    placement.cost = cost / kScale;
    placement.cost_high = cost_high / kScale;
    placement.low.resize(graph_.size());
    placement.gain.resize(graph_.size());
    for (const VertexId v : graph_.ids()) {
      placement.low[v] = IsLow(nodes_[v]);
      if (sides_[v] == Side::kFree) placement.gain[v] = std::max<int64_t>(0, (flip[nodes_[v]] + kScale / 2) / kScale);
    }
    return placement;
  }

  const Model& model_;
  const VertexGraph& graph_;
  const IdVector<VertexId, Side>& sides_;
  const CutGoal goal_;
  const Traffic traffic_;
  MinCut cut_;
  IdVector<VertexId, CutNode> nodes_;
  absl::flat_hash_set<ValueId> released_;     // inputs of the main graph
  size_t num_owners_ = 0;                     // the cut's nodes that stand for vertices, source and sink among them
  IdVector<CutNode, int64_t> saved_;          // by being low
  IdVector<CutNode, int64_t> num_roundings_;  // if it is low
  std::vector<ValueTerm> terms_;
};

}  // namespace

Placement PlaceByCut(const Model& model, const VertexGraph& graph, const IdVector<VertexId, Side>& sides,
                     const std::vector<bool>& released_inputs, const std::vector<bool>& released_outputs,
                     CutGoal goal) {
  return Placer(model, graph, sides, goal).Place(released_inputs, released_outputs);
}

}  // namespace amp
