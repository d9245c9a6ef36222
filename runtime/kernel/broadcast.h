// Operands that broadcast: which of their elements meet.
//
//   AMP_ASSIGN_OR_RETURN(const Broadcast broadcast, BroadcastPair(context));
//   for (RowWalk row(broadcast); !row.AtEnd(); row.Next()) {
//     for (size_t i = 0; i < row.count(); ++i) y[row.first() + i] = a[row.At(0, i)] + b[row.At(1, i)];
//   }
#ifndef AMP_RUNTIME_KERNEL_BROADCAST_H_
#define AMP_RUNTIME_KERNEL_BROADCAST_H_

#include <cstddef>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/kernel/kernel.h"
#include "runtime/kernel/shape_math.h"

namespace amp {

// The shape of a result, and for every operand the strides along its axes, 0 where the operand is repeated.
struct Broadcast {
  Dims dims;
  std::vector<Dims> strides;
};

// Inputs [0, count), NumPy's way.
absl::StatusOr<Broadcast> BroadcastInputs(const KernelContext& context, size_t count);
// Inputs 0 and 1: NumPy's way; before opset 7 only what the attributes `broadcast` and `axis` say, to the first one's
// shape.
absl::StatusOr<Broadcast> BroadcastPair(const KernelContext& context);

// Returns the broadcast with as few axes as possible; at least one.
Broadcast MergeAxes(const Broadcast& broadcast);

// "expected operands of one type, found float32 and int64".
absl::Status CheckSameType(const Tensor& a, const Tensor& b);

// Visits a result row by row, where a row is as long as strides allow: one row in all when nothing is repeated.
class RowWalk {
 public:
  explicit RowWalk(const Broadcast& broadcast);

  bool AtEnd() const { return walk_.AtEnd(); }
  // REQUIRES: there is such a row.
  void Skip(size_t rows) {
    walk_.Skip(rows);
    first_ += rows * count_;
  }
  void Next() {
    walk_.Next();
    first_ += count_;
  }
  size_t count() const { return count_; }  // elements of a row
  size_t first() const { return first_; }  // the row's first element in the result
  // 1, or 0 where the operand has one element for the whole row.
  size_t step(size_t operand) const { return steps_[operand]; }
  // Where the operand's element for the i-th one of the row is.
  size_t At(size_t operand, size_t i) const { return walk_[operand] + i * steps_[operand]; }

 private:
  std::vector<size_t> steps_;
  size_t count_, first_ = 0;
  StridedWalk walk_;
};

}  // namespace amp

#endif  // AMP_RUNTIME_KERNEL_BROADCAST_H_
