// Arithmetic with shapes that kernels share: axes, products of dimensions, broadcasting, walks over elements.
#ifndef AMP_RUNTIME_KERNEL_SHAPE_MATH_H_
#define AMP_RUNTIME_KERNEL_SHAPE_MATH_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/kernel/tensor.h"

namespace amp {

std::string DimsText(absl::Span<const int64_t> dims);  // "[2,3]"

// -1 is the last axis. Errors: outside [-rank, rank).
absl::StatusOr<size_t> NormalizeAxis(int64_t axis, size_t rank);
// Sorted. Errors: as above, and an axis that comes twice.
absl::StatusOr<std::vector<size_t>> NormalizeAxes(absl::Span<const int64_t> axes, size_t rank);

// Product of dims [first, last). REQUIRES: they are those of a tensor.
int64_t ElementsBetween(absl::Span<const int64_t> dims, size_t first, size_t last);

// A shape as one of its axes sees it: [2,3,4,5] along axis 1 has outer 2, size 3 and inner 20. A row is what lies along
// the axis at one place of all the others: `size` elements, `inner` apart.
struct AxisView {
  size_t outer, size, inner;

  // REQUIRES: the dims are those of a tensor, axis < rank.
  AxisView(absl::Span<const int64_t> dims, size_t axis);
  // May be many where there are no elements.
  size_t rows() const { return outer * inner; }
  // The first element of a row. REQUIRES: row < rows().
  size_t First(size_t row) const { return row / inner * size * inner + row % inner; }
};

// Makes indices along an axis of `size` elements count from 0; -1 is the last element. Errors: outside [-size, size).
absl::Status NormalizeIndices(absl::Span<int64_t> indices, int64_t size);

// Errors: the product does not fit.
absl::StatusOr<int64_t> CheckedProduct(int64_t a, int64_t b);

// Elements from one index of an axis to the next, row by row: [12, 4, 1] for [2, 3, 4].
Dims RowStrides(absl::Span<const int64_t> dims);

// The shape of what operands of these shapes give element by element, NumPy's way: [2,1,4] and [3,1] give [2,3,4].
// Errors: dimensions that differ, neither of which is 1.
absl::StatusOr<Dims> BroadcastDims(absl::Span<const int64_t> a, absl::Span<const int64_t> b);

// Strides of an operand along the axes of `result`, 0 where it is repeated. REQUIRES: it broadcasts to `result`.
Dims BroadcastStrides(absl::Span<const int64_t> operand, absl::Span<const int64_t> result);

// Returns the elements under other dims. REQUIRES: as many elements. Errors: dims that overflow beside the one that is
// 0.
absl::StatusOr<Tensor> Reshape(const Tensor& x, Dims dims);

// Visits a shape's indices row by row and keeps, for every operand, the place of its element there:
//
//   for (StridedWalk walk(dims, {strides_a, strides_b}); !walk.AtEnd(); walk.Next()) Use(a[walk[0]], b[walk[1]]);
class StridedWalk {
 public:
  // `strides`: per operand, one for each of `dims`; may be negative. An empty shape ends at once.
  StridedWalk(absl::Span<const int64_t> dims, std::vector<Dims> strides);

  bool AtEnd() const { return done_; }
  void Next();
  // Skips as many indices as so many calls of Next. REQUIRES: that comes to one of the indices.
  void Skip(size_t count);
  size_t operator[](size_t operand) const { return static_cast<size_t>(places_[operand]); }
  const Dims& index() const { return index_; }
  // Moves an operand's place: where its first element is, before the walk begins.
  void Start(size_t operand, int64_t place) { places_[operand] += place; }

 private:
  Dims dims_, index_;
  std::vector<Dims> strides_;
  std::vector<int64_t> places_;
  bool done_;
};

}  // namespace amp

#endif  // AMP_RUNTIME_KERNEL_SHAPE_MATH_H_
