// Heads of attention's operands, some heads and rows at a time: where they lie, by strides, or gathered one behind the
// other in the type that the library computes in, so that only a block of them is ever held in that type.
#ifndef AMP_RUNTIME_CPU_HEAD_BLOCKS_H_
#define AMP_RUNTIME_CPU_HEAD_BLOCKS_H_

#include <array>
#include <cstdint>

#include "absl/status/statusor.h"
#include "ir/base/dtype.h"
#include "runtime/kernel/kernel.h"
#include "runtime/kernel/tensor.h"

namespace amp {

// In elements, of [batch, head, row, column].
using HeadStrides = std::array<int64_t, 4>;
enum HeadAxis { kBatchAxis, kHeadAxis, kRowAxis, kColumnAxis };

// A tensor that holds heads, as it lies in memory.
struct HeadOperand {
  Tensor tensor;
  HeadStrides strides = {};
};

// Where a block begins.
struct HeadPlace {
  int64_t batch = 0, head = 0, row = 0;
};
// So many heads, rows and columns.
struct HeadBlock {
  int64_t heads = 1, rows = 1, columns = 1;

  int64_t num_elements() const { return heads * rows * columns; }
};

enum class HeadAccess { kWhereTheyLie, kGathered };

// [head, row, column] as the library sees a block of at most `most`.
std::array<int64_t, 3> StridesOfBlock(const HeadStrides& strides, const HeadBlock& most, HeadAccess access);

// Gives blocks of an operand.
class HeadReader {
 public:
  // The operand must outlive this. REQUIRES: kGathered, or it is of type `compute`. Errors: memory.
  static absl::StatusOr<HeadReader> Create(const KernelContext& context, const HeadOperand& operand,
                                           const HeadBlock& most, DType compute, HeadAccess access);
  // `block`: at most as many rows as `most`, and as many heads and columns. Good until the next one.
  const void* Read(const HeadPlace& place, const HeadBlock& block);

 private:
  const HeadOperand* operand_ = nullptr;
  HeadBlock most_;
  Tensor gathered_;  // undefined: they are read where they lie
};

// Takes blocks of results.
class HeadWriter {
 public:
  // `y` must outlive this. REQUIRES: kGathered, or it is of type `result`. Errors: memory.
  static absl::StatusOr<HeadWriter> Create(const KernelContext& context, Tensor& y, const HeadStrides& strides,
                                           const HeadBlock& most, DType result, HeadAccess access);
  // Where the library writes a block, which End puts into y.
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
