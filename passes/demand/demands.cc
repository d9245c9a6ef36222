#include "passes/demand/demands.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "absl/strings/str_format.h"
#include "ir/graph/constant.h"
#include "ir/graph/shape.h"
#include "ir/operators/operator_facts.h"

namespace amp {
namespace {

using Kind = Demand::Kind;

constexpr size_t kMostDemands = 8;      // on one value
constexpr double kLargestFloor = 1e-2;  // of a divisor that is there to be safe
constexpr double kLeastChosen = 4;      // magnitude of a constant among whose displacements the largest is chosen
constexpr double kChosenBound = 0.02;
constexpr double kUsualStep = 0.25;  // from numbers that count: a fraction of the distance between two
constexpr double kSmallShare = 0.2;  // of a constant: a displacement by less is what a difference is about

// The stronger of two demands of one kind is the one that bears less.
bool IsStronger(const Demand& a, const Demand& b) {
  return std::make_pair(a.bound * a.floor, a.bound) < std::make_pair(b.bound * b.floor, b.bound);
}

bool IsSame(const Demand& a, const Demand& b) {
  const bool is_same_kind = a.kind == b.kind && a.is_of_result == b.is_of_result && a.is_of_order == b.is_of_order;
  return is_same_kind && (a.kind != Kind::kNearPole || std::abs(a.pole - b.pole) < 1e-12);
}

// The pole of one operand of a sum or difference, where the other operand is `other`.
double PoleBeside(double other, double pole, bool subtracts, size_t port) {
  if (!subtracts) return pole - other;
  return port == 0 ? pole + other : other - pole;
}

// The least distance of a value from the pole of a demand on it.
double DistanceFrom(Interval values, const Demand& demand) {
  if (demand.kind != Kind::kNearPole) return 0;
  const double above = values.low - demand.pole, below = demand.pole - values.high;
  return std::max(std::isfinite(above) ? above : 0, std::isfinite(below) ? below : 0);
}

}  // namespace

std::string Describe(const Demand& demand) {
  if (demand.kind != Kind::kNearPole) return absl::StrFormat("%.2g", demand.bound);
  const std::string share = absl::StrFormat("%.2g %% of ", demand.bound * 100);
  const std::string distance =
      demand.pole == 0 ? std::string("its values") : absl::StrFormat("the distance from %.4g", demand.pole);
  const std::string floor = demand.floor > 0 ? absl::StrFormat(", or of %.2g", demand.floor) : "";
  return share + distance + floor;
}

Demands::Demands(const GuardedGraph& graph, const Supplies& supplies, const CarriedSums& sums,
                 const Tolerance& tolerance)
    : graph_(graph), supplies_(supplies), tolerance_(tolerance), of_value_(graph.model().num_values()) {
  Walk();
  if (!sums.states().empty()) Walk();  // what a round must find, the round before must leave
}

void Demands::Walk() {
  for (const ValueId out : graph_.model().graph(kMainGraph).outputs) MakeOfResult(out);
  const auto order = graph_.order();
  for (size_t i = order.size(); i-- > 0;) {
    if (graph_.node(order[i]).bodies.empty()) Visit(order[i]);
    for (const auto& [from, to] : graph_.Entering(order[i])) PassBack(to, from);
  }
  for (const auto& [left, found] : graph_.States()) PassBack(found, left);
}

void Demands::Visit(NodeId id) {
  const Node& node = graph_.node(id);
  if (node.schema == nullptr) return;
  MakeOwn(id);
  const bool copies = CopiesElements(graph_.model(), id);
  for (size_t port = 0; port < node.outputs.size(); ++port) {
    if (port > 0 && !copies) break;
    if (!graph_.IsVariable(node.outputs[port])) continue;
    const auto demands = On(node.outputs[port]);
    const std::vector<int32_t> indices(demands.begin(), demands.end());
    for (const int32_t index : indices) {
      Demand demand = (*this)[index];
      demand.via = id;
      demand.handed_on = index;
      demand.floor = std::max(demand.floor, DistanceFrom(supplies_.Of(node.outputs[port]).interval, demand));
      HandOn(id, demand);
    }
  }
}

void Demands::Put(NodeId id, size_t port, Demand demand) {
  const ValueId value = graph_.node(id).Input(port);
  if (!std::isfinite(demand.bound) || !std::isfinite(demand.pole)) return;
  demand.via = id;
  if (graph_.IsVariable(value)) PutOn(value, demand);
}

// A value that bodies give is what they leave.
void Demands::PutOn(ValueId value, const Demand& demand) {
  const NodeId producer = graph_.Producer(value);
  if (demand.is_of_result && (producer == kNone || graph_.roles(producer).Has(Role::kHeavy))) return;
  if (demand.is_of_order && !supplies_.Of(value).base.has_value()) return;
  auto& indices = of_value_[value];
  const auto is_same = [&](int32_t index) { return IsSame((*this)[index], demand); };
  const auto it = std::find_if(indices.begin(), indices.end(), is_same);
  if (it == indices.end() ? indices.size() == kMostDemands : !IsStronger(demand, (*this)[*it])) return;
  const auto index = static_cast<int32_t>(all_.size());
  if (it == indices.end()) {
    indices.push_back(index);
  } else {
    *it = index;
  }
  all_.push_back(demand);
  all_.back().value = value;
  if (producer == kNone || graph_.node(producer).bodies.empty()) return;
  for (const ValueId from : graph_.FedBy(value)) {
    if (graph_.IsVariable(from)) PutOn(from, demand);
  }
}

// A value that a body finds must be as right where it was left.
void Demands::PassBack(ValueId found, ValueId left) {
  if (!graph_.IsVariable(found) || !graph_.IsVariable(left)) return;
  const auto demands = On(found);
  const std::vector<int32_t> indices(demands.begin(), demands.end());
  for (const int32_t index : indices) PutOn(left, Demand((*this)[index]));
}

void Demands::MakePole(NodeId id, size_t port, double pole, double floor) {
  Put(id, port, {.kind = Kind::kNearPole, .pole = pole, .bound = tolerance_.share, .floor = floor, .reader = id});
}

void Demands::MakeAbsolute(NodeId id, size_t port, double bound, Kind kind) {
  Put(id, port, {.kind = kind, .bound = bound, .reader = id});
}

// ---- readers that make demands

void Demands::MakeOwn(NodeId id) {
  const Node& node = graph_.node(id);
  const Roles roles = graph_.roles(id);
  if (roles.HasAny(Role::kLogarithm | Role::kInverts)) MakePole(id, 0, 0);
  if (roles.Has(Role::kLogarithm)) MakeOfLogarithmNearOne(id);
  if (roles.Has(Role::kPowers) && ScalarConstant(graph_.model(), node.Input(1)).value_or(1) < 0) MakePole(id, 0, 0);
  if (TakesRoot(graph_.model(), id)) MakeOfRoot(id);
  if (roles.Has(Role::kEndsAtOne)) {
    MakePole(id, 0, 1);
    MakePole(id, 0, -1);
  }
  if (roles.Has(Role::kDivides) && graph_.IsVariable(node.Input(1))) {
    MakePole(id, 1, 0);
    double least = kLargestFloor;  // that the divisor comes near: the dividend must be right beside it
    for (const Supply::Point& point : supplies_.Of(node.Input(1)).near) {
      const bool is_floor = point.why == Approach::kSaturates && point.at != 0;
      if (is_floor) least = std::min(least, std::abs(point.at));
    }
    if (least < kLargestFloor) MakePole(id, 0, 0, least);
  }
  if (roles.Has(Role::kPeriodic)) MakeAbsolute(id, 0, tolerance_.angle);
  if (roles.Has(Role::kSamplesAt)) MakeOfSampling(id);
  if (roles.HasAny(Role::kRounds | Role::kFindsIndex | Role::kCompares) ||
      (IsCast(node) && graph_.IsInteger(node.Output(0)))) {
    MakeOfSteps(id);
  }
  if (roles.Has(Role::kSubtracts)) MakeOfDifference(id);
}

// The root of an error is much more than that near zero: it may be a share of the largest roots.
void Demands::MakeOfRoot(NodeId id) {
  const Supply x = supplies_.Of(graph_.node(id).Input(0));
  const double size = x.KnownSize(false).value_or(1), share = tolerance_.share;
  Put(id, 0, {.kind = Kind::kNearPole, .bound = 2 * share, .floor = 2 * share * size, .reader = id});
}

// The logarithm of 1 and a small displacement is as small as that.
void Demands::MakeOfLogarithmNearOne(NodeId id) {
  const Supply x = supplies_.Of(graph_.node(id).Input(0));
  if (!x.base.has_value()) return;
  const double distance = std::abs(x.base->size - 1) + x.base->moved.value_or(1);
  if (distance < 0.5) MakeAbsolute(id, 0, tolerance_.share * distance, Kind::kArgument);
}

// Coordinates from -1 to 1 over the picture's sides.
void Demands::MakeOfSampling(NodeId id) {
  const auto shape = ShapeOf(graph_.model(), graph_.node(id).Input(0));
  if (!shape.has_value() || shape->size() < 3) return;
  const int64_t longest = *std::max_element(shape->begin() + 2, shape->end());
  if (longest > 0) MakeAbsolute(id, 1, 2 * tolerance_.pixel / static_cast<double>(longest));
}

// Results of the model must be right to a share of their size, where that is known. Products end this: their weights
// tell sizes roughly, and are scaled where they would vanish.
void Demands::MakeOfResult(ValueId out) {
  if (!graph_.IsVariable(out)) return;
  const auto size = supplies_.Of(out).size;
  const NodeId producer = graph_.Producer(out);
  if (producer == kNone || !size.has_value() || *size <= 0) return;
  PutOn(out, {.kind = Kind::kArgument, .bound = tolerance_.share * *size, .is_of_result = true, .reader = producer});
}

// Whole numbers must stay apart, and displacements of a large constant must keep their order. Nothing else that is
// merely compared or rounded demands anything.
void Demands::MakeOfSteps(NodeId id) {
  const Node& node = graph_.node(id);
  const Roles roles = graph_.roles(id);
  const bool steps = roles.Has(Role::kRounds) || IsCast(node);
  for (size_t port = 0; port < std::min<size_t>(2, node.inputs.size()); ++port) {
    const Supply supply = supplies_.Of(node.inputs[port]);
    if (supply.is_stored) continue;
    const bool chooses = roles.Has(Role::kFindsIndex) && port == 0;
    if (chooses && supply.base.has_value() && supply.base->size >= kLeastChosen) {
      Put(id, port,
          {.kind = Kind::kArgument, .bound = kChosenBound, .passes_masks = true, .is_of_order = true, .reader = id});
    }
    if (supply.count.has_value() && (supply.is_whole || steps)) MakeAbsolute(id, port, 0.5);
  }
}

// A constant that both are displacements of cancels; the rest must be right to a share of itself.
void Demands::MakeOfDifference(NodeId id) {
  const Node& node = graph_.node(id);
  const Supply a = supplies_.Of(node.Input(0)), b = supplies_.Of(node.Input(1));
  if (!Cancel(a, b)) return;
  const bool is_below_maximum = b.maximum_of != kNone && b.maximum_of == graph_.Origin(node.Input(0));
  if (is_below_maximum && a.base->size >= kMaskFill) return;  // scores of a softmax, some of them masked
  std::optional<double> moved;
  for (const Supply* operand : {&a, &b}) {
    if (operand->is_constant) continue;
    const auto size = operand->base->moved;
    if (size.has_value()) moved = std::max(moved.value_or(0), *size);
  }
  if (moved.has_value() && a.base->at.has_value() && b.base->at.has_value()) {
    moved = std::max(*moved, std::abs(*a.base->at - *b.base->at));  // what is left of two numbers
  }
  const bool is_small = moved.value_or(1) < kSmallShare * std::max(a.base->size, b.base->size);
  const bool is_grid = a.base->is_grid || b.base->is_grid;
  double rest = is_small ? moved.value_or(1) : std::max(moved.value_or(1), 1.0);
  if (is_grid) rest = std::min(moved.value_or(kUsualStep), kUsualStep);
  for (const size_t port : {size_t{0}, size_t{1}}) MakeAbsolute(id, port, tolerance_.share * rest, Kind::kArgument);
}

// ---- demands that are handed on

void Demands::HandOn(NodeId id, const Demand& demand) {
  const Node& node = graph_.node(id);
  const Roles roles = graph_.roles(id);
  const bool is_pole = demand.kind == Kind::kNearPole;
  const ValueId squared = SquaredValue(graph_.model(), id);
  const Interval ends = node.op->results;
  Demand next = demand;
  if (IsCast(node) || roles.HasAny(Role::kBounds | Role::kNegates | Role::kTakesMaximum) ||
      CopiesElements(graph_.model(), id)) {
    HandOnMoved(id, demand);
  } else if (node.op->saturates > 0) {
    if (is_pole && roles.Has(Role::kOdd) && demand.pole == 0) return Put(id, 0, next);
    const bool ends_there = is_pole && (demand.pole == ends.low || demand.pole == ends.high);
    if (!ends_there || demand.floor > 0) return;
    next.kind = Kind::kArgument;
    next.pole = 0;
    next.passes_masks = true;
    Put(id, 0, next);
  } else if (roles.Has(Role::kPeriodic) && !is_pole) {
    Put(id, 0, next);  // a slope of one at most
  } else if (roles.Has(Role::kAdds)) {
    HandOnSum(id, demand);
  } else if (squared != kNone && !roles.Has(Role::kSums)) {
    HandOnSquare(id, demand);
  } else if (roles.HasAny(Role::kMultiplies | Role::kDivides)) {
    HandOnProduct(id, demand);
  } else if (TakesRoot(graph_.model(), id)) {
    HandOnRoot(id, demand);
  } else if (roles.Has(Role::kSums) && !roles.Has(Role::kLogarithm)) {
    const bool is_positive = supplies_.Of(node.Input(0)).IsNonNegative();
    if (!roles.Has(Role::kSquares) && (!is_pole || (demand.pole == 0 && is_positive))) Put(id, 0, next);
  } else if (roles.Has(Role::kMatrixProduct)) {
    HandOnMatrixProduct(id, demand);
  }
}

// The bounds that the node sets to its operand, as far as constants tell.
Interval Demands::BoundsOf(const Node& node) const {
  if (node.Has(Role::kClips)) return ClipBounds(graph_.model(), node);
  if (!node.op->roles.HasAny(Role::kLargest | Role::kLeast)) return node.op->results;  // Relu
  Interval bounds;
  for (const ValueId in : node.PresentInputs()) {
    const Supply bound = supplies_.Of(in);
    if (!bound.is_constant) continue;
    if (node.Has(Role::kLargest)) bounds.low = std::max(bounds.low, bound.interval.low);
    if (node.Has(Role::kLeast)) bounds.high = std::min(bounds.high, bound.interval.high);
  }
  return bounds;
}

// To operands of the result's type. An element beyond a bound is as far from a pole out there as the bound is.
void Demands::HandOnMoved(NodeId id, const Demand& demand) {
  const Node& node = graph_.node(id);
  const Roles roles = graph_.roles(id);
  Demand next = demand;
  if (demand.kind == Kind::kNearPole && roles.Has(Role::kBounds)) {
    const Interval bounds = BoundsOf(node);
    if (std::isfinite(bounds.low)) next.floor = std::max(next.floor, bounds.low - demand.pole);
    if (std::isfinite(bounds.high)) next.floor = std::max(next.floor, demand.pole - bounds.high);
  } else if (roles.Has(Role::kBounds)) {
    const Interval bounds = BoundsOf(node);  // what is larger is cut off, and its error with it
    if (IsBounded(bounds) && tolerance_.unit * LargestMagnitude(bounds) <= demand.bound) return;
  }
  const bool negates = roles.Has(Role::kNegates) && !std::isfinite(node.op->results.low);
  if (negates) next.pole = -next.pole;
  const bool folds = roles.Has(Role::kNegates) && !negates;  // Abs: two operands for each result
  if (IsCast(node)) return graph_.IsFloat(node.Input(0)) ? Put(id, 0, next) : void();
  const int variable = node.schema->OutputVariable(0);
  for (size_t port = 0; port < node.inputs.size(); ++port) {
    if (node.schema->InputVariable(port) != variable) continue;
    Put(id, port, next);
    if (!folds || next.pole == 0) continue;
    Demand mirrored = next;
    mirrored.pole = -next.pole;
    Put(id, port, mirrored);
  }
}

void Demands::HandOnSum(NodeId id, const Demand& demand) {
  const Node& node = graph_.node(id);
  if (node.inputs.size() != 2) return;
  const bool subtracts = graph_.roles(id).Has(Role::kSubtracts);
  for (const size_t port : {size_t{0}, size_t{1}}) {
    if (demand.kind != Kind::kNearPole) {
      Put(id, port, demand);
      continue;
    }
    const Supply other = supplies_.Of(node.inputs[1 - port]);
    const bool is_positive = supplies_.Of(node.inputs[port]).IsNonNegative();
    const bool adds_at_zero = demand.pole == 0 && !subtracts && is_positive;
    Demand next = demand;
    if (adds_at_zero && other.interval.low >= 0 && std::isfinite(other.interval.low)) {
      next.floor = std::max(next.floor, other.interval.low);
      Put(id, port, next);
    } else if (other.IsUniform()) {
      next.pole = PoleBeside(other.interval.low, demand.pole, subtracts, port);
      Put(id, port, next);
    } else if (!other.is_constant && demand.floor == 0) {
      for (const Supply::Point& point : other.near) {
        if (point.why != Approach::kSaturates) continue;
        next.pole = PoleBeside(point.at, demand.pole, subtracts, port);
        Put(id, port, next);
      }
    }
  }
}

void Demands::HandOnRoot(NodeId id, const Demand& demand) {
  Demand next = demand;
  if (demand.kind == Kind::kNearPole) {
    next.pole *= demand.pole;
    if (demand.pole == 0) next.bound *= 2;
    next.floor *= demand.pole == 0 ? demand.floor : 2 * std::abs(demand.pole);
    return Put(id, 0, next);
  }
  const auto base = supplies_.Of(graph_.node(id).Input(0)).base;
  if (!base.has_value() || base->at.value_or(0) <= 0) return;
  next.bound *= 2 * std::sqrt(*base->at);
  Put(id, 0, next);
}

void Demands::HandOnSquare(NodeId id, const Demand& demand) {
  Demand next = demand;
  if (demand.kind != Kind::kNearPole) {
    const auto size = supplies_.Of(SquaredValue(graph_.model(), id)).KnownSize(false);
    if (!size.has_value() || *size <= 0) return;
    next.bound /= 2 * *size;
    Put(id, 0, next);
    return;
  }
  if (demand.pole < 0) return;
  const double root = std::sqrt(demand.pole);
  if (root == 0) {
    next.bound /= 2;
    next.floor = std::sqrt(demand.floor);
    Put(id, 0, next);
    return;
  }
  next.floor = demand.floor / (2 * root);
  for (const double pole : {root, -root}) {
    next.pole = pole;
    Put(id, 0, next);
  }
}

void Demands::HandOnProduct(NodeId id, const Demand& demand) {
  const Node& node = graph_.node(id);
  const bool divides = graph_.roles(id).Has(Role::kDivides);
  const bool is_pole = demand.kind == Kind::kNearPole;
  for (size_t port = 0; port < std::min<size_t>(2, node.inputs.size()); ++port) {
    if (divides && port == 1) continue;
    const Supply other = supplies_.Of(node.Input(1 - port));
    Demand next = demand;
    if (other.is_constant) {
      const Supply factor = divides ? Inverse(other) : other;
      if (!(factor.scale > 0) || !std::isfinite(factor.scale)) continue;
      if (is_pole && demand.pole != 0 && !factor.IsUniform()) continue;
      if (demand.pole != 0) next.pole = demand.pole / factor.interval.high;
      if (is_pole) {
        next.floor = demand.floor / factor.scale;
      } else {
        next.bound = demand.bound / factor.scale;
      }
      Put(id, port, next);
    } else if (is_pole) {
      if (demand.pole == 0) Put(id, port, next);
    } else if (const auto size = other.KnownSize(false); size.has_value() && *size > 0) {
      const double least = std::isfinite(other.interval.low) && other.interval.low > 0 ? other.interval.low : 1;
      next.bound = divides ? demand.bound * least : demand.bound / *size;
      Put(id, port, next);
    }
  }
}

// A sum of what is not negative is as exact as its terms; an absolute error grows by the weights.
void Demands::HandOnMatrixProduct(NodeId id, const Demand& demand) {
  const Node& node = graph_.node(id);
  for (const size_t port : {size_t{0}, size_t{1}}) {
    if (!graph_.IsVariable(node.Input(port))) continue;
    const Supply operand = supplies_.Of(node.Input(port));
    Demand next = demand;
    if (demand.kind == Kind::kNearPole) {
      const Supply::Point* zero = operand.FindNear(0);
      const bool decays = zero != nullptr && zero->why == Approach::kDecays;
      const bool is_positive = operand.IsNonNegative() && supplies_.IsNonNegativeOperand(id, 1 - port);
      if (demand.pole == 0 && (is_positive || decays)) Put(id, port, next);
    } else if (supplies_.Of(node.Input(1 - port)).IsChoice()) {
      Put(id, port, next);  // elements that are picked
    } else if (const double gain = supplies_.Gain(id, 1 - port); gain > 0) {
      if (port == 0) next.kind = Kind::kArgument;
      next.bound = demand.bound / gain;
      Put(id, port, next);
    }
  }
}

}  // namespace amp
