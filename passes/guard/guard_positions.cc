#include "passes/guard/guard_positions.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_format.h"
#include "ir/graph/constant.h"
#include "ir/operators/operator_facts.h"

namespace amp {
namespace {

class PositionsGuard {
 public:
  explicit PositionsGuard(const GuardedGraph& graph)
      : graph_(graph),
        exact_(static_cast<double>(CountsExactlyTo(graph.vertices().low()))),
        values_(graph.model().num_values()) {}

  void Run(VetoList& vetoes) {
    const auto order = graph_.order();
    for (size_t i = order.size(); i-- > 0;) FindAngles(order[i]);
    for (const NodeId id : order) FindCounts(id);
    for (size_t i = order.size(); i-- > 0;) FindNeeds(order[i]);
    for (const NodeId id : order) {
      const auto& outputs = graph_.node(id).outputs;
      for (size_t port = 0; port < outputs.size(); ++port) {
        if (outputs[port] == kNone || !(IsNeeded(outputs[port]) || (IsSource(id) && IsRead(outputs[port])))) continue;
        vetoes.AddOutput(id, port, Reason(id, at(outputs[port])));
      }
    }
  }

 private:
  enum class Kind : uint8_t { kOther, kSmall, kCounts };  // kSmall: counted from integers, exact in the low type
  struct Fact {
    Kind kind = Kind::kOther;
    bool becomes_angle = false;  // read by a periodic operator, no allowed one in between
    bool is_needed = false;      // some reader minds an absolute error
    bool is_read = false;        // an allowed operator reads it, or a multiple of it
    double bound = 0;
  };

  const Fact& at(ValueId value) const { return values_[graph_.Slot(value)]; }
  Fact& at(ValueId value) { return values_[graph_.Slot(value)]; }
  bool Counts(ValueId value) const { return value != kNone && at(value).kind == Kind::kCounts; }

  // Whether counts stay counts, or multiples of them.
  bool Carries(NodeId id) const {
    const Roles carriers = Role::kAdds | Role::kMultiplies | Role::kDivides | Role::kNegates | Role::kBounds |
                           Role::kRounds | Role::kSums | Role::kRunningSum | Role::kRoots | Role::kInverts;
    return !graph_.IsAllowed(id) && (graph_.PassesOn(id) || graph_.roles(id).HasAny(carriers));
  }
  // Whether only a relative error is passed on.
  bool Scales(NodeId id) const {
    const Roles scales = Role::kMultiplies | Role::kDivides | Role::kNegates | Role::kRoots | Role::kInverts;
    return graph_.PassesOn(id) || graph_.roles(id).HasAny(scales);
  }
  bool IsComplement(const Node& node, NodeId id) const {
    return graph_.roles(id).Has(Role::kSubtracts) &&
           ScalarConstant(graph_.model(), node.Input(0)) == std::optional<double>(1.0);
  }
  bool BecomesAngle(const Node& node) const {
    return std::any_of(node.outputs.begin(), node.outputs.end(),
                       [&](ValueId out) { return out != kNone && at(out).becomes_angle; });
  }

  void FindAngles(NodeId id) {
    const Node& node = graph_.node(id);
    for (const auto& [from, to] : graph_.Entering(id)) at(from).becomes_angle |= at(to).becomes_angle;
    const bool is_read = graph_.roles(id).Has(Role::kPeriodic) || (Carries(id) && BecomesAngle(node));
    if (!is_read) return;
    for (const ValueId in : node.inputs) {
      if (graph_.IsFloat(in)) at(in).becomes_angle = true;
    }
  }

  void FindCounts(NodeId id) {
    const Node& node = graph_.node(id);
    for (const auto& [from, to] : graph_.Entering(id)) {
      if (graph_.IsConstant(from)) continue;
      at(to).kind = std::max(at(to).kind, at(from).kind);
      at(to).bound = std::max(at(to).bound, at(from).bound);
    }
    if (!node.bodies.empty()) return;
    const Fact found = Judge(node, id);
    if (found.kind == Kind::kOther) return;
    for (const ValueId out : node.outputs) {
      if (!graph_.IsFloat(out)) continue;
      at(out).kind = found.kind;
      at(out).bound = found.bound;
    }
  }

  Fact Source(double bound) const {
    Fact fact;
    fact.kind = bound > exact_ ? Kind::kCounts : Kind::kSmall;
    fact.bound = bound;
    return fact;
  }

  // Where integers become floats.
  bool IsSource(NodeId id) const {
    return (IsCast(graph_.node(id)) && !graph_.IsFloatCast(id)) || graph_.roles(id).Has(Role::kCounts);
  }

  Fact Judge(const Node& node, NodeId id) const {
    if (node.outputs.empty() || !graph_.IsFloat(node.Output(0))) return {};
    const bool is_float_cast = graph_.IsFloatCast(id);
    if (IsCast(node) && !is_float_cast) {
      return Source(graph_.IsInteger(node.Input(0)) ? graph_.integers().Of(node.Input(0)) : 0);
    }
    if (graph_.roles(id).Has(Role::kCounts)) return Source(graph_.integers().Of(node.Output(0)));
    Fact largest;
    bool has_data = false;
    for (const ValueId in : node.inputs) {
      if (!graph_.IsFloat(in) || graph_.IsConstant(in)) continue;
      has_data |= at(in).kind == Kind::kOther;
      largest.kind = std::max(largest.kind, at(in).kind);
      largest.bound = std::max(largest.bound, at(in).bound);
    }
    if (graph_.IsAllowed(id)) return largest.kind == Kind::kCounts && BecomesAngle(node) ? largest : Fact();
    if (!Carries(id)) return {};
    const bool is_product = graph_.roles(id).HasAny(Role::kMultiplies | Role::kDivides);
    if (is_product && has_data && !BecomesAngle(node)) return {};
    if (has_data && largest.kind == Kind::kSmall) return {};  // data to which something small was added
    if (IsComplement(node, id)) largest.kind = std::min(largest.kind, Kind::kSmall);
    return largest;
  }

  bool IsNeeded(ValueId value) const {
    return Counts(value) && (at(value).is_needed || graph_.model().IsModelOutput(value));
  }
  bool IsRead(ValueId value) const { return Counts(value) && at(value).is_read; }

  void FindNeeds(NodeId id) {
    const Node& node = graph_.node(id);
    for (const auto& [from, to] : graph_.Entering(id)) {
      at(from).is_needed |= IsNeeded(to);
      at(from).is_read |= IsRead(to);
    }
    if (!node.bodies.empty() || IsComplement(node, id) || graph_.roles(id).Has(Role::kReadsShape)) return;
    bool needs = false, reads = false;
    for (const ValueId out : node.PresentOutputs()) {
      needs |= IsNeeded(out);
      reads |= IsRead(out);
    }
    if (graph_.IsAllowed(id)) {
      reads = !needs;
    } else if (!Scales(id)) {
      needs = true;
    }
    for (const ValueId in : node.inputs) {
      if (!Counts(in)) continue;
      at(in).is_needed |= needs;
      at(in).is_read |= reads;
    }
  }

  std::string Reason(NodeId id, const Fact& fact) const {
    const std::string extent =
        std::isfinite(fact.bound) ? absl::StrFormat("up to %.0f", fact.bound) : "of unknown extent";
    return absl::StrFormat("positions: %scounts %s, %s is exact to %.0f", graph_.IsAllowed(id) ? "angles from " : "",
                           extent, std::string(graph_.LowName()), exact_);
  }

  const GuardedGraph& graph_;
  const double exact_;
  IdVector<ValueId, Fact> values_;
};

}  // namespace

void GuardPositions(const GuardedGraph& graph, VetoList& vetoes) { PositionsGuard(graph).Run(vetoes); }

}  // namespace amp
