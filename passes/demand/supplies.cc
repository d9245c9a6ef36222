#include "passes/demand/supplies.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "ir/graph/attributes.h"
#include "ir/graph/constant.h"
#include "ir/graph/shape.h"
#include "ir/operators/operator_facts.h"

namespace amp {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr int64_t kMostElements = int64_t{1} << 18;
constexpr double kUnknownCount = 1 << 20;    // of whole numbers without a bound
constexpr double kUnknownTrips = 4096;       // of a loop that ends when the model says so
constexpr double kLeastLargestShare = 1e-3;  // of a softmax with a thousand classes; axes are not compared
constexpr int64_t kFewTerms = 4;             // may be at their ends at once

bool ReadsAll(const Node& node, size_t port, int variable) {
  return node.inputs[port] != kNone && node.schema->InputVariable(port) == variable;
}

}  // namespace

Supplies::Supplies(const GuardedGraph& graph, const CarriedSums& sums, const ObservedValues* observed)
    : graph_(graph), sums_(sums), observed_(observed), supplies_(graph.model().num_values()) {
  for (const ValueId in : graph.model().graph(kMainGraph).inputs) {
    if (!graph.IsVariable(in)) continue;
    supplies_[in].size = 1;
    Observe(in);
  }
  Walk();
  if (sums.states().empty()) return;
  knows_states_ = true;
  Walk();
}

void Supplies::Walk() {
  for (const NodeId id : graph_.order()) {
    const Node& node = graph_.node(id);
    if (!node.bodies.empty()) {
      Enter(id);
      continue;
    }
    for (size_t port = 0; port < node.outputs.size(); ++port) {
      if (!graph_.IsVariable(node.outputs[port])) continue;
      supplies_[node.outputs[port]] = OfResult(id, port);
      Observe(node.outputs[port]);
    }
  }
}

void Supplies::Observe(ValueId value) {
  if (observed_ == nullptr) return;
  const auto it = observed_->find(graph_.model().value(value).name);
  if (it == observed_->end()) return;
  supplies_[value] = Observed(supplies_[value], it->second);
}

// A node with bodies gives what its bodies give.
Supply Supplies::Of(ValueId value) const {
  if (!graph_.IsFloat(value)) return {};
  if (graph_.IsConstant(value)) return OfConstant(value);
  const NodeId producer = graph_.Producer(value);
  if (producer == kNone || graph_.node(producer).bodies.empty()) return supplies_[value];
  std::optional<Supply> all;
  for (const ValueId from : graph_.FedBy(value)) {
    const Supply one = OfElements(Of(from));
    all = all.has_value() ? Join(*all, one) : one;
  }
  return all.value_or(Supply());
}

void Supplies::Enter(NodeId id) {
  for (const auto& [from, to] : graph_.Entering(id)) {
    if (!graph_.IsFloat(to)) continue;
    const CarriedState* state = sums_.Find(to);
    supplies_[to] = state == nullptr ? OfElements(Of(from)) : OfState(Of(from), *state);
  }
}

// A state begins as `first`, and goes as far as rounds take it.
Supply Supplies::OfState(const Supply& first, const CarriedState& state) const {
  constexpr double kFewTrips = 4;
  const double trips = state.trips.value_or(kUnknownTrips);
  const Supply left = knows_states_ ? Of(state.left) : first;
  Supply result;
  result.near = first.near;
  if (first.IsNonNegative() && left.IsNonNegative()) result.interval.low = 0;
  result.is_whole = first.is_whole && left.is_whole;
  if (result.is_whole) result.count = std::max(first.count.value_or(0), trips);
  if (state.adds && !state.multiplies && first.base.has_value()) {
    result.base = first.base;
    result.base->moved.reset();
    result.base->at.reset();
  }
  if (state.multiplies && !state.adds && trips >= kFewTrips) {
    result.near.clear();
    result.SetNear(0, Approach::kDecays);
  }
  return result;
}

const Supply& Supplies::OfConstant(ValueId value) const {
  const auto [known, is_new] = constants_.try_emplace(value);
  if (!is_new) return known->second;
  auto elements = ConstantElements(graph_.model(), value, kMostElements);
  return known->second = SupplyOfConstant(value, elements.has_value() ? *std::move(elements) : std::vector<double>());
}

Supply Supplies::OfResult(NodeId id, size_t port) const {
  const Node& node = graph_.node(id);
  if (node.schema == nullptr) return {};
  const Roles roles = graph_.roles(id);
  Supply result;
  if (IsCast(node)) {
    result = OfCast(node);
  } else if (roles.Has(Role::kCounts)) {
    const double bound = graph_.integers().Of(node.Output(0));
    result.is_whole = true;
    result.count = std::isfinite(bound) ? bound : kUnknownTrips;
    result.base = Supply::Base{node.Output(0), *result.count, std::nullopt, std::nullopt, true};
  } else if (roles.Has(Role::kSelects)) {
    result = OfSelection(node);
  } else if (roles.Has(Role::kBounds)) {
    result = OfChoice(node);
  } else if (!roles.HasAny(Role::kContains | Role::kSelects) && CopiesElements(graph_.model(), id)) {
    result = OfMoved(node, port);
  } else if (port == 0) {
    result = OfArithmetic(id);
  }
  if (port == 0) result.interval = Clamped(result.interval, node.op->results);
  const bool ends = port == 0 && IsBounded(node.op->results) && node.op->saturates == 0;
  if (ends && !roles.HasAny(Role::kPeriodic | Role::kBounds)) {  // HardSigmoid, Softsign
    result.SetNear(node.op->results.low, Approach::kReaches);
    result.SetNear(node.op->results.high, Approach::kReaches);
  }
  return result;
}

Supply Supplies::OfCast(const Node& node) const {
  const ValueId from = node.Input(0);
  if (graph_.IsFloat(from)) return OfElements(Of(from));
  const DType type = graph_.model().value(from).dtype;
  if (type == DType::kFloat64 && graph_.IsConstant(from)) return OfConstant(from);
  Supply result;
  const bool is_byte = type == DType::kInt8 || type == DType::kUint8;
  if (type != DType::kBool && !is_byte && !graph_.IsInteger(from)) return result;  // float64, text
  result.is_whole = true;
  if (type == DType::kBool) {
    result.interval = {0, 1};
    result.size = result.count = 1;
    return result;
  }
  const double bound = graph_.integers().Of(from);
  result.count = std::isfinite(bound) ? std::min(bound, kUnknownCount) : kUnknownCount;
  result.base = Supply::Base{node.Output(0), *result.count, std::nullopt, std::nullopt, true};
  return result;
}

// Over the operands that have the result's type.
Supply Supplies::OfMoved(const Node& node, size_t port) const {
  const int variable = node.schema->OutputVariable(port);
  std::optional<Supply> all;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (!ReadsAll(node, i, variable)) continue;
    const Supply one = OfElements(Of(node.inputs[i]));
    all = all.has_value() ? Join(*all, one) : one;
  }
  if (!all.has_value()) return {};
  if (node.Has(Role::kRanks)) all->peak = Of(node.Input(0)).peak;
  const bool keeps_all = node.op->roles.HasAny(Role::kRearranges | Role::kJoins) || node.Has(Role::kPointwise);
  if (!keeps_all && all->base.has_value() && !all->base->is_grid)
    all->base.reset();  // which part of the constant is left is not followed
  if (node.Has(Role::kPads)) all->interval = Hull(all->interval, {0, 0});
  return *all;
}

// Zeros and ones, or the two numbers that OneHot is given.
Supply Supplies::OfSelection(const Node& node) const {
  const bool is_given = node.inputs.size() > 2;
  const Supply values = is_given ? Of(node.Input(2)) : Supply();
  Supply result;
  if (is_given && !values.is_constant) return result;
  result.interval = values.is_constant ? values.interval : Interval{0, 1};
  result.is_whole = !values.is_constant || values.is_whole;
  result.size = result.Bound();
  if (result.is_whole) result.count = result.size;
  return result;
}

// Relu, Clip, Max, Min, Where. Relu takes zero exactly: it comes near no other point.
Supply Supplies::OfChoice(const Node& node) const {
  if (node.Has(Role::kClips)) return Clamped(Of(node.Input(0)), ClipBounds(graph_.model(), node));
  const bool bounds = node.op->roles.HasAny(Role::kLargest | Role::kLeast);
  std::optional<Supply> all, bound;
  for (const ValueId in : node.PresentInputs()) {
    if (!graph_.IsFloat(in)) continue;  // the condition
    const Supply one = OfElements(Of(in));
    std::optional<Supply>& side = bounds && one.is_constant ? bound : all;
    side = side.has_value() ? Join(*side, one) : one;
  }
  if (!all.has_value()) return bound.value_or(Supply());
  if (bound.has_value()) {
    const Interval ends = node.Has(Role::kLargest) ? Interval{bound->interval.low, kInfinity}
                                                   : Interval{-kInfinity, bound->interval.high};
    return Clamped(*all, ends);
  }
  if (node.inputs.size() == 1 && !bounds) {
    all->near.erase(std::remove_if(all->near.begin(), all->near.end(), [](const auto& point) { return point.at <= 0; }),
                    all->near.end());
  }
  return *all;
}

Supply Supplies::OfSum(const Node& node, bool subtracts) const {
  std::optional<Supply> all;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (node.inputs[i] == kNone) continue;
    const Supply term = Of(node.inputs[i]);
    if (!all.has_value()) {
      all = OfElements(term);
      continue;
    }
    if (subtracts && term.maximum_of != kNone && term.maximum_of == graph_.Origin(node.Input(0))) {
      return BelowMaximum(*all);
    }
    const bool cancels = subtracts && Cancel(*all, term);
    all = Sum(*all, subtracts ? -term : term);
    if (cancels) *all = OfDifference(*all);
  }
  return all.value_or(Supply());
}

Supply Supplies::OfPower(const Node& node) const {
  const Supply x = Of(node.Input(0));
  const auto exponent = ScalarConstant(graph_.model(), node.Input(1));
  Supply result;
  if (x.IsNonNegative()) result.interval.low = 0;
  const Supply::Point* zero = x.FindNear(0);
  if (exponent.has_value() && *exponent > 0 && zero != nullptr) result.SetNear(0, zero->why);
  return result;
}

// An end of what the function gives is one that it comes near if its operand goes that far.
Supply Supplies::OfSaturating(const Node& node) const {
  const Supply x = Of(node.Input(0));
  const Interval ends = node.op->results;
  const double far = node.op->saturates;
  Supply result;
  result.interval = ends;
  result.reaches = IsBounded(ends);
  if (IsBounded(ends)) result.size = 1;
  const bool is_odd = node.Has(Role::kOdd);
  const Supply::Point* const zero = x.FindNear(0);
  if (is_odd && x.size.has_value() && *x.KnownSize(false) < 1) {
    result.size = x.KnownSize(false);
    result.reaches = false;
  }
  if (is_odd && zero != nullptr) result.SetNear(0, zero->why);
  const bool compares_elements = node.Has(Role::kSoftmax);
  if (compares_elements) result.peak = kLeastLargestShare;
  if (std::isfinite(ends.low) && (compares_elements || x.interval.low < -far)) {
    result.SetNear(ends.low, Approach::kSaturates);
  }
  if (std::isfinite(ends.high) && (compares_elements || x.interval.high > far)) {
    result.SetNear(ends.high, Approach::kSaturates);
  }
  if (!node.Has(Role::kExponential)) return result;
  result.interval = {std::exp(x.interval.low), std::exp(x.interval.high)};
  result.reaches = x.reaches;
  if (x.peak.has_value()) result.peak = std::exp(*x.peak);
  return result;
}

Supply Supplies::OfReduction(const Node& node) const {
  const Supply x = Of(node.Input(0));
  Supply result;
  if (node.Has(Role::kLogarithm)) return result;
  if (node.Has(Role::kSquares)) {
    result.interval.low = 0;
    result.SetNear(0, Approach::kSquares);
    return result;
  }
  if (x.IsNonNegative()) {
    result.interval.low = x.peak.value_or(0);
    const Supply::Point* zero = x.FindNear(0);
    if (zero != nullptr && !x.peak.has_value()) result.SetNear(0, zero->why);
  }
  result.size = x.size;
  result.is_size_sure = x.is_size_sure;
  return result;
}

Supply Supplies::OfArithmetic(NodeId id) const {
  const Node& node = graph_.node(id);
  const Roles roles = graph_.roles(id);
  if (node.inputs.empty()) return {};
  if (node.op->saturates > 0) return OfSaturating(node);
  if (roles.Has(Role::kAdds)) return OfSum(node, roles.Has(Role::kSubtracts));
  if (roles.Has(Role::kSums)) return OfReduction(node);
  if (const ValueId squared = SquaredValue(graph_.model(), id); squared != kNone) return Squared(Of(squared));
  if (roles.HasAny(Role::kProducts | Role::kConvolution)) return OfProduct(id);
  if (roles.Has(Role::kPowers) && !TakesRoot(graph_.model(), id)) return OfPower(node);
  if (roles.Has(Role::kMultiplies)) return Product(Of(node.Input(0)), Of(node.Input(1)));
  if (roles.HasAny(Role::kDivides | Role::kInverts)) return OfQuotient(node);
  return OfFunction(node);
}

Supply Supplies::OfQuotient(const Node& node) const {
  Supply one;
  one.is_constant = one.reaches = true;
  one.interval = {1, 1};
  one.size = one.scale = 1;
  one.elements = 1;
  const bool inverts = node.Has(Role::kInverts);
  const Supply dividend = inverts ? one : Of(node.Input(0)), divisor = Of(node.Input(inverts ? 0 : 1));
  return divisor.is_constant ? Product(dividend, Inverse(divisor)) : Quotient(dividend, divisor);
}

// Functions of one operand, and norms.
Supply Supplies::OfFunction(const Node& node) const {
  const Supply x = Of(node.Input(0));
  if (node.Has(Role::kNegates)) return std::isfinite(node.op->results.low) ? Magnitude(x) : -x;
  if (node.Has(Role::kRounds) && node.inputs.size() == 1) return Rounded(x);
  if (node.op->roles.HasAny(Role::kRoots | Role::kPowers)) {
    const bool is_inverse = ScalarConstant(graph_.model(), node.Input(1)).value_or(1) < 0;  // Pow(x, -0.5)
    return is_inverse ? Supply() : Root(x);
  }
  Supply result;
  if (node.Has(Role::kTakesMaximum)) {
    result = OfElements(x);
    result.maximum_of = graph_.Origin(node.Input(0));
  } else if (node.Has(Role::kPeriodic) && IsBounded(node.op->results)) {
    result.interval = node.op->results;
    const bool is_small = node.Has(Role::kOdd) && x.size.has_value() && *x.KnownSize(false) < 1;
    result.reaches = !is_small;
    result.size = is_small ? *x.KnownSize(false) : 1;
    result.is_size_sure = is_small && x.is_size_sure;
  } else if (node.Has(Role::kNormalises)) {
    const Supply scale = Of(node.Input(1));
    result.size = scale.is_constant && scale.IsBounded() ? scale.Bound() : 1;
  }
  return result;
}

// A product of two variables is at most known not to be negative.
Supply Supplies::OfProductOfVariables(const Node& node) const {
  const Supply a = Of(node.Input(0)), b = Of(node.Input(1));
  Supply result;
  const bool is_positive = a.IsNonNegative() && b.IsNonNegative() && !node.Has(Role::kConvolution);
  const bool has_more = node.Input(2) != kNone || GetFloat(node, "alpha", 1) < 0;
  if (is_positive && !has_more) result.interval.low = 0;
  for (const Supply* operand : {&a, &b}) {
    const Supply::Point* zero = operand->FindNear(0);
    if (zero != nullptr && (is_positive || zero->why == Approach::kDecays)) result.SetNear(0, zero->why);
  }
  if (a.size.has_value() && b.size.has_value()) result.size = *a.size * *b.size;
  result.is_whole = a.is_whole && b.is_whole && !has_more;
  if (result.is_whole && a.IsChoice()) result.count = b.count;
  if (result.is_whole && b.IsChoice()) result.count = a.count;
  return result;
}

// A product by generic weights has no points that it comes near, and no sure size.
Supply Supplies::OfProduct(NodeId id) const {
  const Node& node = graph_.node(id);
  if (node.Has(Role::kReadsEquation)) return {};
  const bool is_left = graph_.IsConstant(node.Input(0)), is_right = graph_.IsConstant(node.Input(1));
  if (is_left == is_right) return OfProductOfVariables(node);
  const ProductWeights& read = WeightsOf(id, is_right ? 1 : 0);
  const Supply x = Of(node.Input(is_right ? 0 : 1));
  const Supply::Point* zero = x.FindNear(0);
  const bool decays = zero != nullptr && zero->why == Approach::kDecays;
  Supply result;
  if (decays) result.SetNear(0, Approach::kDecays);
  if (read.terms == 0) return result;
  const double alpha = GetFloat(node, "alpha", 1), scale = std::abs(alpha);
  const double typical = x.size.value_or(1);
  result.size = scale * read.norm * (x.is_size_sure ? typical : std::min(1.0, typical));
  if (x.IsBounded() && x.reaches) {
    const double bound = scale * read.absolute_sum * x.Bound();
    result.interval = {-bound, bound};
    result.reaches = read.terms <= kFewTerms;
  }
  const bool is_positive = x.IsNonNegative() && read.is_non_negative && alpha >= 0 && !decays;
  if (is_positive) result.interval.low = 0;
  if (node.Input(2) != kNone) {
    const Supply bias = Of(node.Input(2));
    if (bias.is_constant && bias.size.has_value()) result.size = std::max(*result.size, *bias.size);
    result.interval = result.interval + bias.interval;
  } else if (is_positive && zero != nullptr && zero->why == Approach::kSaturates) {
    result.SetNear(0, zero->why);
  }
  result.is_whole = x.is_whole && read.is_whole;
  if (!x.count.has_value()) return result;
  if (result.is_whole) {
    result.count = read.norm * *x.count;
  } else if (*x.count < kUnknownCount) {
    result.size = std::max(*result.size, read.norm * *x.count);
  }
  return result;
}

bool Supplies::IsNonNegativeOperand(NodeId product, size_t port) const {
  const ValueId value = graph_.node(product).Input(port);
  return graph_.IsConstant(value) ? WeightsOf(product, port).is_non_negative : Of(value).IsNonNegative();
}

double Supplies::Gain(NodeId product, size_t port) const { return WeightsOf(product, port).norm; }

const ProductWeights& Supplies::WeightsOf(NodeId product, size_t port) const {
  const WeightsLayout layout = LayoutOfWeights(graph_.model(), product, port);
  const auto [known, is_new] = weights_.try_emplace({graph_.node(product).Input(port), layout.axis, layout.blocks});
  if (is_new) known->second = ReadProductWeights(graph_.model(), graph_.node(product).Input(port), layout);
  return known->second;
}

}  // namespace amp
