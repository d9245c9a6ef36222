#include "runtime/kernel/broadcast.h"

#include <algorithm>
#include <utility>

#include "ir/base/status.h"
#include "ir/graph/attributes.h"

namespace amp {
namespace {

// The second operand's shape, filled up with ones so that it lies under the first one's axes, as operators before
// opset 7 have it: at `axis`, or at the end.
absl::StatusOr<Dims> AlignedDims(const Node& node, const Dims& a, const Dims& b) {
  if (a == b) return b;
  if (GetInt(node, "broadcast", 0) == 0) {
    return ModelError("expected equal shapes where the attribute broadcast is not set, found ", DimsText(a), " and ",
                      DimsText(b));
  }
  Dims aligned(a.size(), 1);
  const bool is_one_element = std::all_of(b.begin(), b.end(), [](int64_t dim) { return dim == 1; });
  if (is_one_element && b.size() <= a.size()) return aligned;
  if (b.size() > a.size()) {
    return ModelError("expected a second operand of at most rank ", a.size(), ", found ", DimsText(b));
  }
  const auto last = static_cast<int64_t>(a.size() - b.size());
  const int64_t axis = GetInt(node, "axis", -1);
  const int64_t start = axis == -1 ? last : axis < 0 ? axis + static_cast<int64_t>(a.size()) : axis;
  if (start < 0 || start > last) return ModelError("expected an axis from 0 to ", last, ", found ", axis);
  std::copy(b.begin(), b.end(), aligned.begin() + start);
  for (size_t i = 0; i < a.size(); ++i) {
    if (aligned[i] != 1 && aligned[i] != a[i]) {
      return ModelError("expected a part of the shape ", DimsText(a), " from axis ", start, ", found ", DimsText(b));
    }
  }
  return aligned;
}

}  // namespace

absl::StatusOr<Broadcast> BroadcastInputs(const KernelContext& context, size_t count) {
  Broadcast broadcast;
  for (size_t i = 0; i < count; ++i) {
    AMP_ASSIGN_OR_RETURN(broadcast.dims, BroadcastDims(broadcast.dims, context.Input(i).dims()));
  }
  for (size_t i = 0; i < count; ++i) {
    broadcast.strides.push_back(BroadcastStrides(context.Input(i).dims(), broadcast.dims));
  }
  return broadcast;
}

absl::StatusOr<Broadcast> BroadcastPair(const KernelContext& context) {
  if (context.version() >= 7) return BroadcastInputs(context, 2);
  const Dims& a = context.Input(0).dims();
  AMP_ASSIGN_OR_RETURN(const Dims b, AlignedDims(context.node(), a, context.Input(1).dims()));
  return Broadcast{a, {BroadcastStrides(a, a), BroadcastStrides(b, a)}};
}

Broadcast MergeAxes(const Broadcast& broadcast) {
  Broadcast merged{{1}, std::vector<Dims>(broadcast.strides.size(), Dims{0})};
  for (size_t axis = 0; axis < broadcast.dims.size(); ++axis) {
    const int64_t dim = broadcast.dims[axis];
    if (dim == 1) continue;
    const bool continues = std::all_of(broadcast.strides.begin(), broadcast.strides.end(), [&](const Dims& strides) {
      const Dims& outer = merged.strides[static_cast<size_t>(&strides - broadcast.strides.data())];
      return outer.back() == strides[axis] * dim;
    });
    const bool is_first = merged.dims.size() == 1 && merged.dims[0] == 1;
    if (!continues && !is_first) merged.dims.push_back(1);
    merged.dims.back() *= dim;
    for (size_t i = 0; i < merged.strides.size(); ++i) {
      merged.strides[i].resize(merged.dims.size());
      merged.strides[i].back() = broadcast.strides[i][axis];
    }
  }
  return merged;
}

absl::Status CheckSameType(const Tensor& a, const Tensor& b) {
  if (a.dtype() == b.dtype()) return absl::OkStatus();
  return ModelError("expected operands of one type, found ", DTypeName(a.dtype()), " and ", DTypeName(b.dtype()));
}

RowWalk::RowWalk(const Broadcast& broadcast) : walk_({}, {}) {
  Broadcast merged = MergeAxes(broadcast);
  count_ = static_cast<size_t>(merged.dims.back());
  for (Dims& strides : merged.strides) {
    steps_.push_back(static_cast<size_t>(strides.back()));
    strides.back() = 0;
  }
  if (count_ > 0) merged.dims.back() = 1;
  walk_ = StridedWalk(merged.dims, std::move(merged.strides));
}

}  // namespace amp
