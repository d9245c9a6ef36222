#include "passes/guard/guard_thresholds.h"

#include <algorithm>

#include "absl/strings/str_format.h"
#include "ir/operators/operator_facts.h"

namespace amp {
namespace {

class ThresholdsGuard {
 public:
  explicit ThresholdsGuard(const GuardedGraph& graph)
      : graph_(graph),
        decides_(graph.model().num_values(), false),
        feeds_(graph.model().num_nodes(), kNone),
        gains_(feeds_.size(), false) {}

  void Run(VetoList& vetoes) {
    for (const ValueId condition : graph_.Conditions()) decides_[graph_.Slot(condition)] = true;
    const auto order = graph_.order();
    for (size_t i = order.size(); i-- > 0;) {
      MarkDecisions(order[i]);
      JoinThreshold(order[i]);
    }
    for (const NodeId id : order) {
      const NodeId threshold = feeds_[id];
      if (threshold == kNone) continue;
      gains_[id] = Gains(id);
      if (!gains_[id]) continue;
      vetoes.AddNode(id, absl::StrFormat("thresholds: %s decides what is taken, and a rounding to %s can cross it",
                                         graph_.Label(threshold), std::string(graph_.LowName())));
    }
  }

 private:
  // The conditions, indices and shapes among a node's operands, and what they are computed from.
  void MarkDecisions(NodeId id) {
    const Node& node = graph_.node(id);
    if (IsCast(node) && graph_.IsFloat(node.Output(0))) return;  // a mask of numbers
    const bool is_decided =
        !node.bodies.empty() || std::any_of(node.outputs.begin(), node.outputs.end(), [&](ValueId out) {
          return out != kNone && (graph_.IsFloat(out) || decides_[graph_.Slot(out)]);
        });
    if (!is_decided) return;
    for (const ValueId in : node.PresentInputs()) {
      if (!graph_.IsFloat(in)) decides_[graph_.Slot(in)] = true;
    }
  }

  bool IsThreshold(NodeId id) const {
    const Node& node = graph_.node(id);
    const auto decides = [&](ValueId out) { return out != kNone && decides_[graph_.Slot(out)]; };
    if (!graph_.IsUndecided(id) || std::none_of(node.outputs.begin(), node.outputs.end(), decides)) return false;
    if (graph_.roles(id).Has(Role::kFindsIndex)) return true;
    return graph_.roles(id).Has(Role::kCompares) &&
           std::any_of(node.inputs.begin(), node.inputs.end(),
                       [&](ValueId in) { return in != kNone && graph_.IsConstant(in); });
  }

  // Called for readers before producers: a producer joins when all its readers are thresholds, nodes that joined, or
  // allowed operators, which take a 16-bit copy of their own.
  void JoinThreshold(NodeId id) {
    if (!graph_.IsUndecided(id)) return;
    NodeId threshold = IsThreshold(id) ? id : kNone;
    for (const ValueId out : graph_.node(id).PresentOutputs()) {
      if (threshold == id) continue;
      for (const Use& use : graph_.model().value(out).uses) {
        if (use.IsGraphOutput() || !graph_.ReadsElements(use)) continue;
        const NodeId reader = feeds_[use.node];
        if (reader == kNone && !graph_.IsAllowed(use.node)) return;
        if (reader != kNone) threshold = reader;
      }
    }
    feeds_[id] = threshold;
  }

  // Whether float32 gains anything for a node that joined: an infer node does not round then; clear nodes and the
  // threshold itself never round, and gain only if what they get is not 16-bit already.
  bool Gains(NodeId id) const {
    if (!graph_.IsClear(id)) return true;
    const Node& node = graph_.node(id);
    return std::any_of(node.inputs.begin(), node.inputs.end(), [&](ValueId in) {
      if (!graph_.IsFloat(in) || graph_.IsConstant(in)) return false;
      const NodeId from = graph_.Producer(in);
      if (from == kNone) return true;
      if (feeds_[from] != kNone) return static_cast<bool>(gains_[from]);
      return !graph_.IsUndecided(from) && !graph_.IsAllowed(from);
    });
  }

  const GuardedGraph& graph_;
  IdVector<ValueId, bool> decides_;
  IdVector<NodeId, NodeId> feeds_;  // the threshold that alone it feeds; a threshold feeds itself
  IdVector<NodeId, bool> gains_;
};

}  // namespace

void GuardThresholds(const GuardedGraph& graph, VetoList& vetoes) { ThresholdsGuard(graph).Run(vetoes); }

}  // namespace amp
