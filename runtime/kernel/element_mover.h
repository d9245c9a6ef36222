// Moves elements in memory that the processor does not see. runtime/kernel/move_elements.h calls it if tensors are on a
// device, so that a kernel that only moves elements runs there as it is.
//
// Nothing here fails: errors of a device are known later, and are asked for then.
#ifndef AMP_RUNTIME_KERNEL_ELEMENT_MOVER_H_
#define AMP_RUNTIME_KERNEL_ELEMENT_MOVER_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "runtime/kernel/move_elements.h"
#include "runtime/kernel/tensor.h"

namespace amp {

// As the functions of these names in move_elements.h. REQUIRES of all: `to` has elements, of 1, 2, 4 or 8 bytes; at
// most 8 axes.
class ElementMover {
 public:
  virtual ~ElementMover() = default;
  virtual void CopyBlocks(const Tensor& from, BlockPlaces source, Tensor& to, BlockPlaces target, size_t run,
                          size_t count) = 0;
  // Elements of `to` row by row, under these dims.
  virtual void CopyStrided(const Tensor& from, int64_t start, absl::Span<const int64_t> dims,
                           absl::Span<const int64_t> strides, Tensor& to) = 0;
  // `fill` is where the processor sees it.
  virtual void CopyPicked(const Tensor& from, absl::Span<const std::vector<int64_t>> picks, const Tensor* fill,
                          Tensor& to) = 0;
  virtual void CopyRuns(const Tensor& from, absl::Span<const size_t> firsts, size_t run, Tensor& to) = 0;
  virtual void SetZero(Tensor& to) = 0;
};

}  // namespace amp

#endif  // AMP_RUNTIME_KERNEL_ELEMENT_MOVER_H_
