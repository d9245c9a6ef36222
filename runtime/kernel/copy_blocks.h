// Blocks of elements that lie evenly apart, of every type, strings included: what tensors are cut into and joined from.
#ifndef AMP_RUNTIME_KERNEL_COPY_BLOCKS_H_
#define AMP_RUNTIME_KERNEL_COPY_BLOCKS_H_

#include <cstddef>

#include "runtime/kernel/tensor.h"

namespace amp {

// Where the first block begins, and how far it is from there to the next.
struct BlockPlaces {
  size_t first = 0, step = 0;
};

// `count` blocks of `size` elements each. REQUIRES: both tensors are of one type, which is one, and have these places.
void CopyBlocks(const Tensor& from, BlockPlaces in, Tensor& to, BlockPlaces out, size_t size, size_t count);

}  // namespace amp

#endif  // AMP_RUNTIME_KERNEL_COPY_BLOCKS_H_
