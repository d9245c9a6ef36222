// Reads and writes attention's operands in blocks of some heads and rows. A block is used where it lies, by strides, or
// gathered into contiguous memory in the type that the library computes in, so that only one block is held in that
// type.
#ifndef AMP_RUNTIME_CPU_HEAD_BLOCKS_H_
#define AMP_RUNTIME_CPU_HEAD_BLOCKS_H_

#include <array>
#include <cstdint>

#include "absl/status/statusor.h"
#include "ir/base/dtype.h"
#include "runtime/kernel/kernel.h"
#include "runtime/kernel/tensor.h"

namespace amp {

// Strides in elements, of [batch, head, row, column].
using HeadStrides = std::array<int64_t, 4>;
enum HeadAxis { kBatchAxis, kHeadAxis, kRowAxis, kColumnAxis };

// A tensor of heads and its strides.
struct HeadOperand {
  Tensor tensor;
  HeadStrides strides = {};
};

// The first element of a block.
struct HeadPlace {
  int64_t batch = 0, head = 0, row = 0;
};
// The size of a block.
struct HeadBlock {
  int64_t heads = 1, rows = 1, columns = 1;

  int64_t num_elements() const { return heads * rows * columns; }
};

enum class HeadAccess { kWhereTheyLie, kGathered };

// Returns the strides of [head, row, column] with which the library reads blocks of at most the size `most`.
std::array<int64_t, 3> StridesOfBlock(const HeadStrides& strides, const HeadBlock& most, HeadAccess access);

// Reads blocks of an operand.
class HeadReader {
 public:
  // The operand must outlive this. REQUIRES: `access` is kGathered, or the operand has the type `compute`. Errors: no
  // memory.
  static absl::StatusOr<HeadReader> Create(const KernelContext& context, const HeadOperand& operand,
                                           const HeadBlock& most, DType compute, HeadAccess access);
  // Returns the block's elements, valid until the next call. `block`: at most as many rows as `most`, and exactly as
  // many heads and columns.
  const void* Read(const HeadPlace& place, const HeadBlock& block);

 private:
  const HeadOperand* operand_ = nullptr;
  HeadBlock most_;
  Tensor gathered_;  // undefined: blocks are read where they lie
};

// Writes blocks of the result.
class HeadWriter {
 public:
  // `y` must outlive this. REQUIRES: `access` is kGathered, or `y` has the type `result`. Errors: no memory.
  static absl::StatusOr<HeadWriter> Create(const KernelContext& context, Tensor& y, const HeadStrides& strides,
                                           const HeadBlock& most, DType result, HeadAccess access);
  // Begin returns the address to which the library writes a block; End copies the block to `y` if it was gathered.
  void* Begin(const HeadPlace& place);
  void End(const HeadPlace& place, const HeadBlock& block);

 private:
  Tensor* y_ = nullptr;
  HeadStrides strides_ = {};
  HeadBlock most_;
  Tensor gathered_;
};

}  // namespace amp

#endif  // AMP_RUNTIME_CPU_HEAD_BLOCKS_H_
