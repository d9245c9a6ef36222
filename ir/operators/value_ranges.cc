#include "ir/operators/value_ranges.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>

#include "ir/graph/attributes.h"
#include "ir/graph/constant.h"
#include "ir/graph/shape.h"
#include "ir/operators/operator_facts.h"
#include "ir/operators/operator_roles.h"
#include "ir/schema/schema.h"

namespace amp {
namespace {

constexpr int64_t kMostElements = int64_t{1} << 16;
constexpr int kMostOperands = 8;     // that may be at their ends at once
constexpr double kFarthest = 65504;  // a bound of Clip there or beyond is there for infinities

bool IsFloat(DType type) { return type == DType::kFloat32 || IsLowFloat(type); }

Interval HullOf(const std::vector<double>& elements) {
  if (elements.empty()) return {};
  const auto [low, high] = std::minmax_element(elements.begin(), elements.end());
  return {*low, *high};
}

Interval WithinReach(Interval x) {
  const Interval unknown;
  return {x.low <= -kFarthest ? unknown.low : std::min(x.low, kFarthest),
          x.high >= kFarthest ? unknown.high : std::max(x.high, -kFarthest)};
}

}  // namespace

ValueRanges::ValueRanges(const Model& model, absl::Span<const NodeId> order, const IntegerBounds& integers)
    : model_(model), integers_(integers), ranges_(model.num_values()) {
  for (const NodeId id : order) {
    const Node& node = model.node(id);
    for (size_t port = 0; port < node.outputs.size(); ++port) {
      const ValueId out = node.outputs[port];
      if (out == kNone || !IsFloat(model.value(out).dtype)) continue;
      const Range range = OfOutput(id, port);
      if (range.operands <= kMostOperands) ranges_[out] = range;
    }
  }
}

ValueRanges::Range ValueRanges::Ask(ValueId value) {
  if (value == kNone) return {};
  if (!model_.IsConstant(value)) return ranges_[value];
  const auto [known, is_new] = constants_.try_emplace(value);
  if (!is_new) return known->second;
  const auto elements = ConstantElements(model_, value, kMostElements);
  if (!elements.has_value()) return known->second;
  const Interval hull = HullOf(*elements);
  return known->second = {hull, hull.low == hull.high ? 0 : 1};
}

ValueRanges::Range ValueRanges::OfOutput(NodeId id, size_t port) {
  const Node& node = model_.node(id);
  if (node.schema == nullptr || !node.bodies.empty() || node.Has(Role::kConstant)) return {};
  const Roles roles = RolesOf(model_, id);
  Range range;
  if (IsCast(node)) {
    range = OfCast(node);
  } else if (roles.Has(Role::kCounts)) {
    const double bound = integers_.Of(node.Output(0));
    range.interval = {-bound, bound};
  } else if (roles.Has(Role::kMoves) && !roles.Has(Role::kContains)) {
    range = OfMoved(node, port);
  } else if (port == 0) {
    range = OfArithmetic(id);
  }
  if (port == 0) range.interval = Clamped(range.interval, node.op->results);
  return {range.interval, std::max(range.operands, 1)};
}

ValueRanges::Range ValueRanges::OfCast(const Node& node) {
  const ValueId from = node.Input(0);
  const DType type = model_.value(from).dtype;
  if (IsFloat(type)) return Ask(from);
  if (type == DType::kInt8 || type == DType::kUint8) return {};  // a mask as often as a byte
  const double bound = integers_.Of(from);
  const bool is_signed = type != DType::kBool && type != DType::kUint16;
  return {{is_signed ? -bound : 0, bound}};
}

// Over the operands that have the result's type; updates that are added to what is there are not only moved.
ValueRanges::Range ValueRanges::OfMoved(const Node& node, size_t port) {
  if (GetString(node, "reduction", "none") != "none") return {};
  const int variable = node.schema->OutputVariable(port);
  std::optional<Range> all;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (node.inputs[i] == kNone || node.schema->InputVariable(i) != variable) continue;
    const Range one = Ask(node.inputs[i]);
    all = all.has_value() ? Range{Hull(all->interval, one.interval), std::max(all->operands, one.operands)} : one;
    if (!KnowsAnEnd(all->interval)) return {};
  }
  if (all.has_value() && node.Has(Role::kPads)) all->interval = Hull(all->interval, {0, 0});
  return all.value_or(Range{});
}

ValueRanges::Range ValueRanges::OfSum(const Node& node, bool subtracts) {
  for (const ValueId in : node.PresentInputs()) {
    if (!model_.IsConstant(in) && !KnowsAnEnd(ranges_[in].interval)) return {};
  }
  Range sum{{0, 0}};
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const Range term = Ask(node.inputs[i]);
    if (!KnowsAnEnd(term.interval)) return {};
    sum.interval = sum.interval + (subtracts && i == 1 ? -term.interval : term.interval);
    sum.operands += term.operands;
  }
  return sum;
}

ValueRanges::Range ValueRanges::OfClip(const Node& node) {
  Range range = Ask(node.Input(0));
  range.interval = Clamped(range.interval, WithinReach(ClipBounds(model_, node)));
  return range;
}

// Relu, Max, Min, Where.
ValueRanges::Range ValueRanges::OfChoice(const Node& node) {
  if (node.Has(Role::kClips)) return OfClip(node);
  std::optional<Range> chosen;
  for (const ValueId in : node.PresentInputs()) {
    if (!IsFloat(model_.value(in).dtype)) continue;  // the condition
    Range one = Ask(in);
    if (model_.IsConstant(in)) one.interval = WithinReach(one.interval);
    if (!chosen.has_value()) {
      chosen = one;
      continue;
    }
    Interval& all = chosen->interval;
    if (node.Has(Role::kLargest)) {
      all = {std::max(all.low, one.interval.low), std::max(all.high, one.interval.high)};
    } else if (node.Has(Role::kLeast)) {
      all = {std::min(all.low, one.interval.low), std::min(all.high, one.interval.high)};
    } else {
      all = Hull(all, one.interval);
    }
    chosen->operands = std::max(chosen->operands, one.operands);
  }
  return chosen.value_or(Range{});
}

ValueRanges::Range ValueRanges::OfArithmetic(NodeId id) {
  const Node& node = model_.node(id);
  const Roles roles = RolesOf(model_, id);
  if (roles.Has(Role::kBounds)) return OfChoice(node);
  if (roles.Has(Role::kAdds)) return OfSum(node, roles.Has(Role::kSubtracts));
  if (roles.Has(Role::kMatrixProduct)) return OfMatrixProduct(node);
  if (roles.Has(Role::kSums)) return {};
  const Range first = Ask(node.Input(0));
  const Interval x = first.interval;
  if (SquaredValue(model_, id) != kNone) return {Square(x), first.operands};
  if (!KnowsAnEnd(x)) return {};
  if (roles.Has(Role::kMultiplies)) {
    const Range second = Ask(node.Input(1));
    return {x * second.interval, first.operands + second.operands};
  }
  if (roles.Has(Role::kDivides)) {
    const auto divisor = ScalarConstant(model_, node.Input(1));
    if (!divisor.has_value() || *divisor == 0) return {};
    return {x * Interval{1 / *divisor, 1 / *divisor}, first.operands};
  }
  // Neg and Abs: of the latter no result is below zero.
  if (roles.Has(Role::kNegates)) return {std::isfinite(node.op->results.low) ? Hull(x, -x) : -x, first.operands};
  if (roles.Has(Role::kTakesMaximum)) return first;
  if (roles.Has(Role::kRounds) && node.inputs.size() == 1)
    return {{std::floor(x.low), std::ceil(x.high)}, first.operands};
  if (roles.Has(Role::kRoots) && x.low >= 0) return {{std::sqrt(x.low), std::sqrt(x.high)}, first.operands};
  if (roles.Has(Role::kExponential)) return {{std::exp(x.low), std::exp(x.high)}, first.operands};
  return {};
}

// Points by a small constant matrix on their right, as many operands as it has rows.
ValueRanges::Range ValueRanges::OfMatrixProduct(const Node& node) {
  const Range points = Ask(node.Input(0));
  const auto shape = ShapeOf(model_, node.Input(1));
  const bool is_plain = node.inputs.size() == 2 && IsBounded(points.interval);
  if (!is_plain || !shape.has_value() || shape->size() != 2) return {};
  const bool is_transposed = GetInt(node, "transB", 0) != 0;
  const int64_t rows = (*shape)[is_transposed ? 1 : 0], columns = (*shape)[is_transposed ? 0 : 1];
  if (rows < 1 || rows > kMostOperands) return {};
  const auto matrix = ConstantElements(model_, node.Input(1), kMostElements);
  // An input that names a constant may leave its dimensions open.
  const bool is_whole = matrix.has_value() && std::ssize(*matrix) == NumElements(model_, node.Input(1));
  if (!is_whole || matrix->empty()) return {};
  const double scale = GetFloat(node, "alpha", 1);
  std::optional<Interval> all;
  for (int64_t column = 0; column < columns; ++column) {
    Interval sum{0, 0};
    for (int64_t row = 0; row < rows; ++row) {
      const int64_t place = is_transposed ? column * rows + row : row * columns + column;
      const double factor = scale * (*matrix)[static_cast<size_t>(place)];
      sum = sum + points.interval * Interval{factor, factor};
    }
    all = all.has_value() ? Hull(*all, sum) : sum;
  }
  return {*all, points.operands * static_cast<int>(rows)};
}

}  // namespace amp
