#include "runtime/kernel/shape_math.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ir/base/status.h"
#include "ir/file/tensor_view.h"

namespace amp {
namespace {

// A tensor without elements may have any dimensions beside the one that is 0.
int64_t WrappingProduct(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

}  // namespace

std::string DimsText(absl::Span<const int64_t> dims) { return absl::StrCat("[", absl::StrJoin(dims, ","), "]"); }

absl::StatusOr<size_t> NormalizeAxis(int64_t axis, size_t rank) {
  const auto signed_rank = static_cast<int64_t>(rank);
  if (axis < -signed_rank || axis >= signed_rank) {
    return ModelError("expected an axis in [", -signed_rank, ", ", signed_rank, "), found ", axis);
  }
  return static_cast<size_t>(axis < 0 ? axis + signed_rank : axis);
}

absl::StatusOr<std::vector<size_t>> NormalizeAxes(absl::Span<const int64_t> axes, size_t rank) {
  std::vector<size_t> result;
  for (const int64_t axis : axes) {
    AMP_ASSIGN_OR_RETURN(const size_t normal, NormalizeAxis(axis, rank));
    result.push_back(normal);
  }
  std::sort(result.begin(), result.end());
  if (std::adjacent_find(result.begin(), result.end()) != result.end()) {
    return ModelError("expected different axes, found ", DimsText(axes));
  }
  return result;
}

int64_t ElementsBetween(absl::Span<const int64_t> dims, size_t first, size_t last) {
  int64_t count = 1;
  for (size_t i = first; i < last; ++i) count = WrappingProduct(count, dims[i]);
  return count;
}

AxisView::AxisView(absl::Span<const int64_t> dims, size_t axis)
    : outer(static_cast<size_t>(ElementsBetween(dims, 0, axis))),
      size(static_cast<size_t>(dims[axis])),
      inner(static_cast<size_t>(ElementsBetween(dims, axis + 1, dims.size()))) {}

absl::Status NormalizeIndices(absl::Span<int64_t> indices, int64_t size) {
  for (int64_t& index : indices) {
    if (index < -size || index >= size) {
      return ModelError("expected an index in [", -size, ", ", size, "), found ", index);
    }
    if (index < 0) index += size;
  }
  return absl::OkStatus();
}

absl::StatusOr<int64_t> CheckedProduct(int64_t a, int64_t b) {
  int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) return LimitError("expected a product that fits, found ", a, " x ", b);
  return product;
}

Dims RowStrides(absl::Span<const int64_t> dims) {
  Dims strides(dims.size());
  int64_t stride = 1;
  for (size_t i = dims.size(); i-- > 0; stride = WrappingProduct(stride, dims[i])) strides[i] = stride;
  return strides;
}

absl::StatusOr<Dims> BroadcastDims(absl::Span<const int64_t> a, absl::Span<const int64_t> b) {
  const size_t rank = std::max(a.size(), b.size());
  Dims result(rank);
  for (size_t i = 0; i < rank; ++i) {
    const int64_t of_a = i + a.size() < rank ? 1 : a[i + a.size() - rank];
    const int64_t of_b = i + b.size() < rank ? 1 : b[i + b.size() - rank];
    if (of_a != of_b && of_a != 1 && of_b != 1) {
      return ModelError("expected shapes that broadcast, found ", DimsText(a), " and ", DimsText(b));
    }
    result[i] = of_a == 1 ? of_b : of_a;
  }
  return result;
}

Dims BroadcastStrides(absl::Span<const int64_t> operand, absl::Span<const int64_t> result) {
  const Dims own = RowStrides(operand);
  Dims strides(result.size(), 0);
  const size_t missing = result.size() - operand.size();
  for (size_t i = 0; i < operand.size(); ++i) strides[missing + i] = operand[i] == 1 ? 0 : own[i];
  return strides;
}

absl::StatusOr<Tensor> Reshape(const Tensor& x, Dims dims) {
  if (ElementCount(dims).has_value()) return x.Reshaped(std::move(dims));
  return LimitError("expected dimensions whose product fits 63 bits, found ", DimsText(dims));
}

StridedWalk::StridedWalk(absl::Span<const int64_t> dims, std::vector<Dims> strides)
    : dims_(dims.begin(), dims.end()),
      index_(dims.size(), 0),
      strides_(std::move(strides)),
      places_(strides_.size(), 0),
      done_(std::find(dims.begin(), dims.end(), 0) != dims.end()) {}

void StridedWalk::Next() {
  for (size_t axis = dims_.size(); axis-- > 0;) {
    for (size_t i = 0; i < strides_.size(); ++i) places_[i] += strides_[i][axis];
    if (++index_[axis] < dims_[axis]) return;
    for (size_t i = 0; i < strides_.size(); ++i) places_[i] -= strides_[i][axis] * dims_[axis];
    index_[axis] = 0;
  }
  done_ = true;
}

void StridedWalk::Skip(size_t count) {
  auto left = static_cast<int64_t>(count);
  for (size_t axis = dims_.size(); axis-- > 0 && left > 0;) {
    const int64_t sum = index_[axis] + left, index = sum % dims_[axis];
    for (size_t i = 0; i < strides_.size(); ++i) places_[i] += strides_[i][axis] * (index - index_[axis]);
    index_[axis] = index;
    left = sum / dims_[axis];
  }
}

}  // namespace amp
