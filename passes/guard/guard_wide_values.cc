#include "passes/guard/guard_wide_values.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_format.h"
#include "passes/guard/wide_values.h"

namespace amp {
namespace {

class WideValuesGuard {
 public:
  explicit WideValuesGuard(const GuardedGraph& graph)
      : graph_(graph), wide_(graph), fates_(graph.model().num_values()) {}

  void Run(VetoList& vetoes) {
    const auto order = graph_.order();
    for (size_t i = order.size(); i-- > 0;) LookAhead(order[i]);
    for (const NodeId id : order) Veto(id, vetoes);
  }

 private:
  // The ends of the ways of a wide value.
  struct Fate {
    bool is_brought_back = false;  // meets a root, a logarithm, a division
    bool is_multiplied = false;    // meets a product that stays high
  };

  Fate& at(ValueId value) { return fates_[graph_.Slot(value)]; }
  bool IsWide(ValueId value) const { return graph_.IsVariable(value) && wide_.Of(value).IsWide(); }

  bool BringsBack(const Node& node, NodeId id, size_t port) const {
    const Roles roles = graph_.roles(id);
    if (roles.HasAny(Role::kLogarithm | Role::kRoots | Role::kInverts | Role::kNormalises)) return true;
    if (roles.Has(Role::kPowers)) return port == 0 && SquaredValue(graph_.model(), id) == kNone;
    return roles.Has(Role::kDivides) && (port == 1 || graph_.IsVariable(node.Input(1)));
  }

  Fate FateOfResults(const Node& node) {
    Fate all;
    for (const ValueId out : node.outputs) {
      if (!IsWide(out)) continue;
      all.is_brought_back |= at(out).is_brought_back;
      all.is_multiplied |= at(out).is_multiplied;
    }
    return all;
  }

  // A product that has to stay high because of one of its operands: what comes next brings it back, or it is the first
  // to read a power.
  bool StaysHigh(const Node& node, NodeId id, ValueId operand) {
    const WideValue& wide = wide_.Of(operand);
    if (!IsProduct(graph_, id) || !wide.LeavesRange()) return false;
    return FateOfResults(node).is_brought_back || (wide.wideness == Wideness::kPower && wide.products == 0);
  }

  void LookAhead(NodeId id) {
    const Node& node = graph_.node(id);
    for (const auto& [from, to] : graph_.Entering(id)) {
      at(from).is_brought_back |= at(to).is_brought_back;
      at(from).is_multiplied |= at(to).is_multiplied;
    }
    if (!node.bodies.empty()) return;
    const Fate next = FateOfResults(node);
    for (size_t port = 0; port < node.inputs.size(); ++port) {
      const ValueId in = node.inputs[port];
      if (!IsWide(in)) continue;
      at(in).is_brought_back |= next.is_brought_back || BringsBack(node, id, port);
      at(in).is_multiplied |= next.is_multiplied || StaysHigh(node, id, in);
    }
  }

  void Veto(NodeId id, VetoList& vetoes) {
    const Node& node = graph_.node(id);
    if (!node.bodies.empty()) return;
    for (size_t port = 0; port < node.outputs.size(); ++port) {
      const ValueId out = node.outputs[port];
      if (IsWide(out) && at(out).is_multiplied) vetoes.AddOutput(id, port, Reason(wide_.Of(out)));
    }
    for (const ValueId in : node.inputs) {
      if (IsWide(in) && StaysHigh(node, id, in)) vetoes.AddNode(id, Reason(wide_.Of(in)));
    }
  }

  std::string Reason(const WideValue& wide) const {
    const double largest = LargestFinite(graph_.vertices().low());
    const bool is_exponential = wide.wideness == Wideness::kExponential;
    return absl::StrFormat("wide values: %s gives %s, beyond %s from %s of %.4g on", graph_.Label(wide.source),
                           is_exponential ? "exponentials" : "squares", std::string(graph_.LowName()),
                           is_exponential ? "an exponent" : "a magnitude",
                           is_exponential ? std::log(largest) : std::floor(std::sqrt(largest)) + 1);
  }

  const GuardedGraph& graph_;
  const WideValues wide_;
  IdVector<ValueId, Fate> fates_;
};

}  // namespace

void GuardWideValues(const GuardedGraph& graph, VetoList& vetoes) {
  const bool has_range_of_float32 = LargestFinite(graph.vertices().low()) > LargestFinite(DType::kFloat32) / 2;
  if (!has_range_of_float32) WideValuesGuard(graph).Run(vetoes);
}

}  // namespace amp
