#include "passes/train/gradient/backward.h"

#include <numeric>

#include "ir/base/status.h"

namespace amp {
namespace {

// How `to` was broadcast to `from`, as far as it is known, seen from the front of `from`.
struct Broadcast {
  bool is_known = false;
  int64_t num_leading = 0;  // axes that `to` does not have
  Axes summed;              // of the others, those along which it was repeated
};

Broadcast BroadcastOf(const Model& model, ValueId from, ValueId to, size_t trailing) {
  const auto wide = ShapeOf(model, from), narrow = ShapeOf(model, to);
  if (!wide || !narrow || narrow->size() > wide->size()) return {};
  const std::vector<std::string> wide_symbols = DimSymbols(model, from), symbols = DimSymbols(model, to);
  Broadcast found;
  found.is_known = true;
  found.num_leading = static_cast<int64_t>(wide->size() - narrow->size());
  for (size_t i = 0; i + trailing < narrow->size(); ++i) {
    const size_t axis = i + static_cast<size_t>(found.num_leading);
    const int64_t dim = (*narrow)[i], wide_dim = (*wide)[axis];
    if (dim == 1 && wide_dim != 1) found.summed.push_back(static_cast<int64_t>(axis));
    if (dim != kUnknownDim || wide_dim == 1) continue;
    const bool is_same = !symbols[i].empty() && symbols[i] == wide_symbols[axis];
    if (!is_same) found.is_known = false;
  }
  return found;
}

}  // namespace

Term Backward::SumTo(const Term& x, ValueId from, ValueId to, size_t trailing) {
  if (from == to) return x;
  const Broadcast broadcast = BroadcastOf(model(), from, to, trailing);
  if (!broadcast.is_known) {
    const Term target = write_.ShapeOf(to), shape = write_.ShapeOf(from);
    const Term missing = write_.Op("Sub", {write_.Op("Size", {shape}), write_.Op("Size", {target})});
    const Term ones = Expand(write_.Integer(1), Reshape(missing, write_.Integers({1})));
    const Term dims = trailing == 0 ? target : Slice(target, {0}, {-static_cast<int64_t>(trailing)}, {0});
    const Term is_one = IsEqual(Concat({ones, dims}, 0), write_.Integer(1));
    const Term axes = Reshape(write_.OpAs(DType::kInt64, "NonZero", {is_one}), write_.Integers({-1}));
    return Reshape(SumAlong(x, axes, KeepDims::kYes), target);
  }
  Axes leading(static_cast<size_t>(broadcast.num_leading));
  std::iota(leading.begin(), leading.end(), 0);
  if (broadcast.summed.empty()) return Sum(x, leading, KeepDims::kNo);
  Axes all = leading;
  all.insert(all.end(), broadcast.summed.begin(), broadcast.summed.end());
  const Term sum = Sum(x, all, KeepDims::kYes);
  return leading.empty() ? sum : Squeeze(sum, leading);
}

std::optional<int64_t> Backward::Rank(ValueId value) const {
  const auto shape = Shape(value);
  if (!shape.has_value()) return std::nullopt;
  return static_cast<int64_t>(shape->size());
}

std::optional<int64_t> Backward::AxisFromFront(ValueId value, int64_t axis) const {
  const auto rank = Rank(value);
  if (!rank.has_value() || axis < -*rank || axis >= *rank) return std::nullopt;
  return axis < 0 ? axis + *rank : axis;
}

std::optional<Axes> Backward::AxesFromFront(ValueId value, Axes axes) const {
  for (int64_t& axis : axes) {
    const auto found = AxisFromFront(value, axis);
    if (!found.has_value()) return std::nullopt;
    axis = *found;
  }
  return axes;
}

absl::Status Backward::Refuse(absl::string_view why) { return ModelError(why); }

}  // namespace amp
