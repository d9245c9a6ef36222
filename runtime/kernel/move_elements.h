// Moving elements without looking at them: of every type, strings included.
//
//   CopyElements(x, 3, y, 0, 2)              y[0], y[1] = x[3], x[4]
//   CopyBlocks(x, {1, 3}, y, {0, 2}, 2, 2)   y[0], y[1], y[2], y[3] = x[1], x[2], x[4], x[5]
//   CopyStrided(x, 0, {1, 4}, y)             y = transpose of x, where x is [3,4] and y is [4,3]
//   CopyPicked(x, {{1, kNowhere}}, fill, y)  y[0], y[1] = x[1], fill
//
// Errors of all: kUndefined as the element type. If the elements are on a device, it moves them; both tensors are there
// then, except that of `fill`.
#ifndef AMP_RUNTIME_KERNEL_MOVE_ELEMENTS_H_
#define AMP_RUNTIME_KERNEL_MOVE_ELEMENTS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "runtime/kernel/tensor.h"

namespace amp {

// `count` elements, from place `first` on, to place `at`. REQUIRES: both tensors are of one type and have these places.
void CopyElements(const Tensor& from, size_t first, Tensor& to, size_t at, size_t count);

// Where the first one of several blocks is, and how far behind it the next one, in elements.
struct BlockPlaces {
  size_t first, step;
};
// `count` blocks of `run` elements each. REQUIRES: both tensors are of one type and have these places.
void CopyBlocks(const Tensor& from, BlockPlaces source, Tensor& to, BlockPlaces target, size_t run, size_t count);

// Zero, false, the empty string.
void FillWithZero(Tensor& tensor);

// The elements of `to` are runs of `run` elements, from these places on. REQUIRES: `from` has them.
absl::Status CopyRuns(const Tensor& from, absl::Span<const size_t> firsts, size_t run, Tensor& to);

// Copies the elements of `from` at these indices along the axis to `to`. REQUIRES: they are in range, and `to` has the
// shape for them.
absl::Status CopyAlong(const Tensor& from, size_t axis, absl::Span<const int64_t> indices, Tensor& to);

// Gives element [i, j, ...] of `to` the one at place start + i * strides[0] + j * strides[1] + ... REQUIRES: `from` has
// these places; one stride for each of to's axes.
absl::Status CopyStrided(const Tensor& from, int64_t start, absl::Span<const int64_t> strides, Tensor& to);

// An index for CopyPicked that is none.
inline constexpr int64_t kNowhere = -1;
// Gives element [i, j, ...] of `to` that of `from` at [picks[0][i], picks[1][j], ...], or the only element of `fill`,
// zero if null, where one of these is kNowhere. REQUIRES: `from` has these indices; one list for each of to's axes, as
// long as that axis.
absl::Status CopyPicked(const Tensor& from, absl::Span<const std::vector<int64_t>> picks, const Tensor* fill,
                        Tensor& to);

}  // namespace amp

#endif  // AMP_RUNTIME_KERNEL_MOVE_ELEMENTS_H_
