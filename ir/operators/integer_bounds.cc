#include "ir/operators/integer_bounds.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "ir/graph/attributes.h"
#include "ir/graph/constant.h"
#include "ir/graph/shape.h"
#include "ir/operators/operator_facts.h"
#include "ir/operators/operator_roles.h"
#include "ir/schema/schema.h"

namespace amp {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::infinity();
constexpr int64_t kMostElements = int64_t{1} << 16;

bool IsWholeNumber(DType type) { return LargestFinite(type) == 0 && LargestMagnitude(type) > 0; }

// Returns the bound by the type alone. int64 and int32 say nothing, as indices just happen to have them.
double LimitOf(DType type) {
  return IsWholeNumber(type) && BitsPerElement(type) <= 16 ? LargestMagnitude(type) : kUnknown;
}

double Extent(int64_t dim) { return dim < 0 ? kUnknown : static_cast<double>(dim); }

double LargestElement(const std::vector<double>& elements) {
  double largest = 0;
  for (const double element : elements) largest = std::max(largest, std::abs(element));
  return largest;
}

}  // namespace

IntegerBounds::IntegerBounds(const Model& model, absl::Span<const NodeId> order) : model_(model) {
  bounds_.assign(model.num_values(), std::numeric_limits<double>::quiet_NaN());
  for (const NodeId id : order) {
    const Node& node = model.node(id);
    for (const ValueId in : node.PresentInputs()) {
      if (std::isnan(bounds_[in])) bounds_[in] = OfLeaf(in);
    }
    for (size_t port = 0; port < node.outputs.size(); ++port) {
      const ValueId out = node.outputs[port];
      if (out != kNone) bounds_[out] = OfOutput(id, port);
    }
  }
}

double IntegerBounds::Of(ValueId value) const {
  if (value == kNone) return kUnknown;
  const double bound = bounds_[value];
  return std::isnan(bound) ? kUnknown : bound;
}

// A value that no node in the order produces.
double IntegerBounds::OfLeaf(ValueId value) const {
  const DType type = model_.value(value).dtype;
  const int64_t most = IsWholeNumber(type) ? kMostElements : 1;
  if (const auto elements = ConstantElements(model_, value, most)) return LargestElement(*elements);
  return LimitOf(type);
}

double IntegerBounds::LargestDim(ValueId value) const {
  const auto dims = ShapeOf(model_, value);
  if (!dims.has_value()) return kUnknown;
  double largest = 0;
  for (const int64_t dim : *dims) largest = std::max(largest, Extent(dim));
  return largest;
}

// Along the axis that is searched.
double IntegerBounds::LargestIndex(const Node& node) const {
  const auto dims = ShapeOf(model_, node.Input(0));
  if (!dims.has_value()) return kUnknown;
  const auto rank = static_cast<int64_t>(dims->size());
  int64_t axis = GetInt(node, "axis", node.Has(Role::kRanks) ? -1 : 0);
  if (axis < 0) axis += rank;
  return axis >= 0 && axis < rank ? std::max(0.0, Extent((*dims)[static_cast<size_t>(axis)]) - 1) : kUnknown;
}

// Gather of known places from a shape: an infinity where it is no such thing.
double IntegerBounds::OfPickedDims(const Node& node) const {
  const NodeId from = model_.value(node.Input(0)).producer;
  if (!node.Has(Role::kGathers) || from == kNone || !RolesOf(model_, from).Has(Role::kReadsShape)) return kUnknown;
  const Node& shape = model_.node(from);
  const bool is_whole =
      !shape.Has(Role::kCountsElements) && !HasAttribute(shape, "start") && !HasAttribute(shape, "end");
  const auto dims = is_whole ? ShapeOf(model_, shape.Input(0)) : std::nullopt;
  const auto places = ConstantElements(model_, node.Input(1), kMostElements);
  if (!dims.has_value() || !places.has_value()) return kUnknown;
  double largest = 0;
  for (const double place : *places) {
    const auto rank = static_cast<double>(dims->size());
    const double at = place < 0 ? place + rank : place;
    largest = std::max(largest, at >= 0 && at < rank ? Extent((*dims)[static_cast<size_t>(at)]) : kUnknown);
  }
  return largest;
}

// Over the operands that have the output's type variable, which leaves indices, shapes and conditions out.
double IntegerBounds::LargestOperand(const Node& node, size_t port, size_t first) const {
  const int variable = node.schema->OutputVariable(port);
  double largest = 0;
  for (size_t i = first; i < node.inputs.size(); ++i) {
    if (node.inputs[i] == kNone || node.schema->InputVariable(i) != variable) continue;
    largest = std::max(largest, Of(node.inputs[i]));
  }
  return largest;
}

double IntegerBounds::OfOutput(NodeId id, size_t port) const {
  const Node& node = model_.node(id);
  const DType type = model_.value(node.outputs[port]).dtype;
  const Roles roles = RolesOf(model_, id);
  if (roles.Has(Role::kCounts)) return std::max(Of(node.Input(0)), Of(node.Input(1)));
  if (!IsWholeNumber(type)) return kUnknown;
  if (const auto elements = ConstantElements(model_, node.outputs[port], kMostElements)) {
    return LargestElement(*elements);
  }
  return std::min(LimitOf(type), OfResult(node, port, roles));
}

// Returns the bound of an operator's result on whole numbers, types aside.
double IntegerBounds::OfResult(const Node& node, size_t port, Roles roles) const {
  const auto in = [&](size_t i) { return node.Input(i) == kNone ? 0.0 : Of(node.Input(i)); };
  if (IsCast(node)) return in(0);
  if (roles.Has(Role::kFindsIndex)) {  // of TopK the first output is the values
    return roles.Has(Role::kRanks) && port == 0 ? LargestOperand(node, port, 0) : LargestIndex(node);
  }
  if (roles.Has(Role::kCountsElements)) return Extent(NumElements(model_, node.Input(0)));
  if (roles.Has(Role::kReadsShape)) return LargestDim(node.Input(0));
  // Rounding to whole numbers changes none; a remainder is no larger than what is divided.
  if (roles.HasAny(Role::kRounds | Role::kDivides)) return in(0);
  if (roles.Has(Role::kMultiplies)) return in(0) == 0 || in(1) == 0 ? 0 : in(0) * in(1);
  if (roles.Has(Role::kAdds)) {
    double sum = 0;
    for (size_t i = 0; i < node.inputs.size(); ++i) sum += in(i);
    return sum;
  }
  if (roles.HasAny(Role::kSums | Role::kRunningSum) && !roles.Has(Role::kSquares)) {
    return in(0) == 0 ? 0 : in(0) * Extent(NumElements(model_, node.Input(0)));
  }
  if (roles.Has(Role::kSelects)) return std::max(1.0, LargestOperand(node, port, 0));
  if (roles.Has(Role::kClips) && node.inputs.size() == 3 && node.Input(1) != kNone) {
    return std::min(in(0), LargestOperand(node, port, 1));
  }
  const Roles no_larger = Role::kMoves | Role::kBounds | Role::kNegates | Role::kTakesMaximum;
  if (!roles.HasAny(no_larger)) return kUnknown;
  return std::min(OfPickedDims(node), LargestOperand(node, port, 0));
}

}  // namespace amp
