#include "passes/demand/guard_demands.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "ir/base/status.h"
#include "ir/operators/operator_facts.h"
#include "ir/patterns/product_of_dims.h"
#include "passes/demand/demands.h"

namespace amp {
namespace {

constexpr double kRoomOfProducts = 4, kRoomOfOthers = 16;
constexpr double kClose = 1.0 / 16;  // of the size of values on both sides of a pole: some are as near

class DemandsGuard {
 public:
  DemandsGuard(const GuardedGraph& graph, const ObservedValues* observed, VetoList& vetoes)
      : graph_(graph),
        vetoes_(vetoes),
        tolerance_(ToleranceOf(graph.vertices().low())),
        sums_(graph),
        supplies_(graph, sums_, observed),
        demands_(graph, supplies_, sums_, tolerance_),
        is_kept_(demands_.all().size()) {}

  void Run() {
    for (const ValueId value : graph_.model().AllValues()) {
      for (const int32_t index : demands_.On(value)) Meet(index);
    }
    for (const NodeId id : graph_.order()) {
      if (graph_.node(id).bodies.empty()) KeepWithinRange(id);
    }
    for (const CarriedState& state : sums_.states()) KeepCarriedSum(state);
  }

 private:
  void Meet(int32_t index) {
    const Demand& demand = demands_[index];
    const Supply supply = supplies_.Of(demand.value);
    const std::string fault =
        demand.kind == Demand::Kind::kNearPole ? FaultNearPole(supply, demand) : FaultOfSize(supply, demand);
    if (fault.empty()) return;
    const std::string name = Escaped(graph_.model().value(demand.value).name);
    KeepWay(index, absl::StrFormat("demands: %s bears errors of %s, but '%s' %s", graph_.Label(demand.reader),
                                   Describe(demand), name, fault));
  }

  // From the value to the reader, as far as no other value on the way has been there.
  void KeepWay(int32_t index, const std::string& why) {
    for (; index != Demand::kNoDemand && !is_kept_[static_cast<size_t>(index)]; index = demands_[index].handed_on) {
      is_kept_[static_cast<size_t>(index)] = true;
      const Demand& at = demands_[index];
      vetoes_.AddValue(at.value, why);
      if (at.handed_on != Demand::kNoDemand) {
        vetoes_.AddNode(at.via, why);
      } else if (at.via != kNone && !graph_.roles(at.via).Has(Role::kFindsIndex)) {
        KeepOperand(at, why);
      }
    }
  }

  // An operand of the reader may have a type of its own: it alone is kept.
  void KeepOperand(const Demand& demand, const std::string& why) {
    const auto& inputs = graph_.node(demand.via).inputs;
    for (size_t port = 0; port < inputs.size(); ++port) {
      if (inputs[port] == demand.value) vetoes_.AddInput(demand.via, port, why);
    }
  }

  std::string FaultNearPole(const Supply& supply, const Demand& demand) const {
    for (const Supply::Point& point : supply.near) {
      if (point.why == Approach::kSquares && tolerance_.tiny == 0) continue;
      if (point.why == Approach::kReaches && point.at == demand.pole) continue;  // where float32 is infinite, too
      const double borne = demand.bound * std::max(std::abs(point.at - demand.pole), demand.floor);
      const double error = std::max(tolerance_.unit * std::abs(point.at), tolerance_.tiny);
      if (error > (point.why == Approach::kReaches ? 2 * borne : borne)) {
        return absl::StrFormat("comes near %.4g, where %s is off by %.2g", point.at, LowName(), error);
      }
    }
    if (const std::string fault = FaultAroundPole(supply, demand); !fault.empty()) return fault;
    const bool is_of_zero = demand.pole == 0 && supply.size.value_or(0) > 0;
    const bool is_far = supply.IsNonNegative() || supply.is_observed;
    const double least = is_of_zero ? *supply.size * (is_far ? 1 : kClose) : 0;
    const double borne = demand.bound * std::max(least, demand.floor);
    if (!is_of_zero || tolerance_.tiny <= borne) return "";
    return absl::StrFormat("is of size %.2g, which %s rounds by %.2g", *supply.size, LowName(), tolerance_.tiny);
  }

  // Some displacements of the pole, or of a number beside it, are much smaller than most.
  std::string FaultAroundPole(const Supply& supply, const Demand& demand) const {
    if (!supply.base.has_value() || !supply.base->at.has_value() || !supply.base->moved.has_value()) return "";
    const double at = *supply.base->at, moved = *supply.base->moved;
    if (supply.is_constant || supply.is_observed || std::abs(at - demand.pole) > moved) return "";
    const double error = std::max(tolerance_.unit * std::max(std::abs(at), std::abs(demand.pole)), tolerance_.tiny);
    const double gap = std::max(supply.interval.low - demand.pole, demand.pole - supply.interval.high);
    if (error <= demand.bound * std::max({moved * kClose, demand.floor, gap})) return "";
    return absl::StrFormat("is %.4g and a displacement of size %.2g, where %s is off by %.2g", at, moved, LowName(),
                           error);
  }

  std::string FaultOfSize(const Supply& supply, const Demand& demand) const {
    const auto size = supply.KnownSize(demand.kind == Demand::Kind::kArgument);
    if (!size.has_value() || !std::isfinite(*size) || (demand.passes_masks && *size >= kMaskFill)) return "";
    const bool is_exact = supply.is_whole && tolerance_.unit * *size <= 1;
    const double error = is_exact ? 0 : std::max(tolerance_.unit * *size, tolerance_.tiny);
    if (error <= demand.bound) return "";
    return absl::StrFormat("is of size %.3g, which %s rounds by %.2g", *size, LowName(), error);
  }

  void KeepCarriedSum(const CarriedState& state) {
    const bool is_sum = state.adds && !state.multiplies && state.trips.has_value();
    if (!is_sum || supplies_.Of(state.found).is_whole) return;
    const double lost = *state.trips * tolerance_.unit;
    if (lost <= tolerance_.carried_sum) return;
    const std::string why =
        absl::StrFormat("demands: a sum carried %.0f rounds loses up to %.2g of itself in each in %s, %.2g in all",
                        *state.trips, tolerance_.unit, LowName(), lost);
    for (const NodeId id : state.way) vetoes_.AddNode(id, why);
    vetoes_.AddValue(state.found, why);
    vetoes_.AddValue(state.left, why);
  }

  // Sizes and quotients beyond the type's largest number; what constants reach is judged with the constants.
  void KeepWithinRange(NodeId id) {
    const double largest = tolerance_.largest;
    if (tolerance_.tiny == 0) return;  // float32's range
    const Node& node = graph_.node(id);
    for (size_t port = 0; port < node.outputs.size(); ++port) {
      const ValueId out = node.outputs[port];
      if (!graph_.IsVariable(out)) continue;
      if (IsOfAnySize(node, out)) {
        KeepOutput(id, port,
                   absl::StrFormat("demands: '%s' is a product of dimensions, and may lie beyond %s's largest %g",
                                   Escaped(graph_.model().value(out).name), LowName(), largest));
        continue;
      }
      const double known = LargestMagnitude(graph_.ranges().Of(out));  // 0 where an end is not known
      const double estimated = HasLargeConstant(node) ? 0 : Reached(node, supplies_.Of(out));
      const double reached = std::max(known, estimated);
      if (reached <= largest) continue;
      const std::string why = absl::StrFormat("demands: '%s' may reach %.6g, beyond %s's largest %g",
                                              Escaped(graph_.model().value(out).name), reached, LowName(), largest);
      KeepOutput(id, port, why);
    }
  }

  void KeepOutput(NodeId id, size_t port, const std::string& why) {
    vetoes_.AddOutput(id, port, why);
    for (const Use& use : graph_.model().value(graph_.node(id).outputs[port]).uses) {
      if (!use.IsGraphOutput() && graph_.ReadsElements(use)) vetoes_.AddInput(use.node, use.port, why);
    }
  }

  bool IsOfAnySize(const Node& node, ValueId out) const {
    const bool counts = IsCast(node) && graph_.IsInteger(node.Input(0));
    if (!counts && !node.Has(Role::kMultiplies)) return false;
    const bool is_bounded =
        IsBounded(graph_.ranges().Of(out)) || (counts && graph_.integers().Of(node.Input(0)) <= tolerance_.largest);
    return !is_bounded && IsProductOfDims(graph_.model(), out);
  }

  double Reached(const Node& node, const Supply& supply) const {
    double reached = 0;
    if (supply.is_observed) return reached;  // guard "observed" tells what data reach
    for (const Supply::Point& point : supply.near) {
      if (point.why != Approach::kReaches) reached = std::max(reached, std::abs(point.at));
    }
    if (supply.reaches && supply.IsBounded()) reached = std::max(reached, supply.Bound());
    const bool has_size = supply.is_size_sure && supply.size.has_value() && !supply.IsBounded();
    if (!has_size) return reached;
    const double room = *supply.size >= kMaskFill ? 1 : node.Has(Role::kHeavy) ? kRoomOfProducts : kRoomOfOthers;
    return std::max(reached, *supply.size * room);
  }

  bool HasLargeConstant(const Node& node) const {
    return std::any_of(node.inputs.begin(), node.inputs.end(), [&](ValueId in) {
      if (in == kNone || !graph_.IsConstant(in)) return false;
      return supplies_.Of(in).size.value_or(0) > tolerance_.largest;
    });
  }

  std::string LowName() const { return std::string(graph_.LowName()); }

  const GuardedGraph& graph_;
  VetoList& vetoes_;
  const Tolerance tolerance_;
  const CarriedSums sums_;
  const Supplies supplies_;
  const Demands demands_;
  std::vector<bool> is_kept_;  // the way from the value of a demand to its reader
};

}  // namespace

void GuardDemands(const GuardedGraph& graph, const ObservedValues* observed, VetoList& vetoes) {
  DemandsGuard(graph, observed, vetoes).Run();
}

}  // namespace amp
