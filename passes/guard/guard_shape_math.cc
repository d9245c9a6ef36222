#include "passes/guard/guard_shape_math.h"

#include <algorithm>

#include "absl/strings/str_format.h"
#include "ir/operators/operator_facts.h"

namespace amp {
namespace {

class ShapeMathGuard {
 public:
  ShapeMathGuard(const GuardedGraph& graph, VetoList& vetoes)
      : graph_(graph), vetoes_(vetoes), seen_(graph.model().num_values(), Seen::kNot) {}

  void Run() {
    for (const NodeId id : graph_.order()) {
      const Node& node = graph_.node(id);
      if (!IsCast(node) || !graph_.IsFloat(node.Input(0)) || !graph_.IsInteger(node.Output(0))) continue;
      why_ = absl::StrFormat("shape math: becomes %s in %s, %s counts exactly to %d",
                             std::string(DTypeName(graph_.model().value(node.Output(0)).dtype)), graph_.Label(id),
                             std::string(graph_.LowName()), CountsExactlyTo(graph_.vertices().low()));
      Push({node.Input(0), true});
      while (!stack_.empty()) {
        const Step step = stack_.back();
        stack_.pop_back();
        Visit(step);
      }
    }
  }

 private:
  enum class Seen : uint8_t { kNot, kMixed, kAlone };
  struct Step {
    ValueId value;
    bool alone;  // nothing was joined to it on the way, and nothing else reads it
  };

  bool HasOneReader(ValueId value) const {
    const auto& uses = graph_.model().value(value).uses;
    return std::count_if(uses.begin(), uses.end(), [&](const Use& use) { return graph_.ReadsElements(use); }) == 1;
  }

  void Push(const Step& step) {
    const Seen now = step.alone ? Seen::kAlone : Seen::kMixed;
    Seen& seen = seen_[step.value];
    if (!graph_.IsFloat(step.value) || graph_.IsConstant(step.value) || seen >= now) return;
    seen = now;
    stack_.push_back(step);
  }

  void Visit(const Step& step) {
    for (const ValueId from : graph_.FedBy(step.value)) Push({from, false});
    const NodeId id = graph_.Producer(step.value);
    if (id == kNone || !graph_.node(id).bodies.empty()) return;
    const Node& node = graph_.node(id);
    if (graph_.IsAllowed(id)) {
      if (step.alone && HasOneReader(step.value)) vetoes_.AddProducer(step.value, why_);
      return;
    }
    const bool is_cast = IsCast(node);
    if (!is_cast && !graph_.IsUndecided(id)) return;
    if (is_cast && IsLowFloat(graph_.model().value(node.Input(0)).dtype))
      return;  // the user's rounding decided already
    vetoes_.AddProducer(step.value, why_);
    if (is_cast && !graph_.IsFloatCast(id)) return;
    const auto is_joined = [&](ValueId in) { return graph_.IsFloat(in) && !graph_.IsConstant(in); };
    const bool alone =
        step.alone && HasOneReader(step.value) && std::count_if(node.inputs.begin(), node.inputs.end(), is_joined) == 1;
    for (const ValueId in : node.PresentInputs()) Push({in, alone});
  }

  const GuardedGraph& graph_;
  VetoList& vetoes_;
  IdVector<ValueId, Seen> seen_;
  std::vector<Step> stack_;
  std::string why_;
};

}  // namespace

void GuardShapeMath(const GuardedGraph& graph, VetoList& vetoes) { ShapeMathGuard(graph, vetoes).Run(); }

}  // namespace amp
