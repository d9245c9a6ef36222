#include "passes/guard/guard_masks.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ir/base/status.h"

namespace amp {
namespace {

constexpr int kMostSteps = 8;

class MasksGuard {
 public:
  MasksGuard(const GuardedGraph& graph, const ObservedValues* observed, VetoList& vetoes)
      : graph_(graph), observed_(observed), vetoes_(vetoes) {}

  void Run() {
    for (const NodeId id : graph_.order()) {
      if (graph_.roles(id).Has(Role::kSoftmax)) KeepScores(id);
      KeepOwnMask(id);
    }
  }

 private:
  // Whether a caller gives the value, which nodes may only have moved.
  bool IsGiven(ValueId value) const {
    if (value == kNone) return false;
    const Value& origin = graph_.model().value(graph_.Origin(value));
    return origin.is_graph_input && origin.graph == kMainGraph && !origin.IsInitializer();
  }

  bool IsUnknown(ValueId mask) const {
    return observed_ == nullptr || !observed_->contains(graph_.model().value(graph_.Origin(mask)).name);
  }

  // Returns the input that a sum adds to something that is computed; kNone where it is no such sum.
  ValueId MaskOf(const Node& sum) const {
    ValueId mask = kNone;
    bool has_scores = false;
    for (const ValueId in : sum.PresentInputs()) {
      if (!graph_.IsVariable(in)) continue;
      if (IsGiven(in)) mask = in;
      has_scores = has_scores || !IsGiven(in);
    }
    return has_scores ? mask : ValueId(kNone);
  }

  void KeepScores(NodeId softmax) {
    std::vector<NodeId> path = {softmax};
    for (int i = 0; i < kMostSteps; ++i) {
      const NodeId id = graph_.Producer(graph_.node(path.back()).Input(0));
      if (id == kNone) return;
      path.push_back(id);
      const bool is_sum = graph_.roles(id).Has(Role::kAdds);
      const ValueId mask = is_sum ? MaskOf(graph_.node(id)) : ValueId(kNone);
      if (mask != kNone) {
        if (!IsUnknown(mask)) return;
        for (const NodeId node : path) vetoes_.AddNode(node, WhyOf(mask));
        return;
      }
      if (!is_sum && !graph_.PassesOn(id)) return;
    }
  }

  // Fused attention adds its mask to the scores inside. No result has the mask's type.
  void KeepOwnMask(NodeId id) {
    const Node& node = graph_.node(id);
    if (node.schema == nullptr || node.op->type_attribute.form != TypeAttribute::Form::kSoftmaxPrecision) return;
    for (size_t port = 0; port < node.inputs.size(); ++port) {
      const ValueId in = node.inputs[port];
      if (graph_.IsVariable(in) && IsOfNoResult(*node.schema, node.schema->InputVariable(port)) && IsGiven(in) &&
          IsUnknown(in)) {
        vetoes_.AddInput(id, port, WhyOf(in));
      }
    }
  }

  static bool IsOfNoResult(const OpSchema& schema, int variable) {
    for (size_t port = 0; port < schema.outputs().size(); ++port) {
      if (schema.OutputVariable(port) == variable) return false;
    }
    return true;
  }

  std::string WhyOf(ValueId mask) const {
    return absl::StrCat("masks: input '", Escaped(graph_.model().value(graph_.Origin(mask)).name),
                        "' is added to what a softmax reads, and may hide by numbers that are infinite in ",
                        graph_.LowName(), "; --calibration tells whether it does");
  }

  const GuardedGraph& graph_;
  const ObservedValues* const observed_;
  VetoList& vetoes_;
};

}  // namespace

void GuardMasks(const GuardedGraph& graph, const ObservedValues* observed, VetoList& vetoes) {
  MasksGuard(graph, observed, vetoes).Run();
}

}  // namespace amp
