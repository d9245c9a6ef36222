// Attention in blocks of rows: softmax(masks(cap(scale q k'))) v. No more scores are held at a time than fit a near
// cache.
//
//   for each batch and head (or several heads, if they are small), shared by the threads:
//     for each block of queries:  scores = scale q k' by oneDNN,  softmax of their rows by loops,  y = scores v
//
// Operands are read where they lie, by strides, so that a model's transpositions around attention cost nothing.
// Operands of another type than the library computes in are gathered block by block, and so are small heads. Softmax is
// computed in float32 for all types. Idea: Rabe and Staats, "Self-attention does not need O(n^2) memory" (2021).
#ifndef AMP_RUNTIME_CPU_ATTENTION_BLOCKS_H_
#define AMP_RUNTIME_CPU_ATTENTION_BLOCKS_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "runtime/cpu/head_blocks.h"
#include "runtime/kernel/kernel.h"
#include "runtime/kernel/tensor.h"

namespace amp {

struct ScoreMask {
  enum class Kind { kAdded, kKeepsWhereTrue, kKeepsWhereFalse };
  Kind kind = Kind::kAdded;
  float fill = 0;            // the value of scores that are not kept
  HeadOperand operand = {};  // [batch, heads, queries, keys], stride 0 along axes where it is broadcast
};

struct AttentionProblem {
  int64_t batch = 1, heads = 1, queries = 1, keys = 1, size = 1, value_size = 1;
  int64_t heads_per_key = 1;  // number of successive query heads that share one head of keys and values
  HeadOperand q, k, v;        // all of one type: float32, float16 or bfloat16; rows are queries or keys
  HeadStrides y = {};
  float scale = 1, soft_cap = 0;  // soft_cap 0: none
  std::vector<ScoreMask> masks = {};
  int64_t past = -1;                                // >= 0: query i attends to keys up to i + past; -1: to all keys
  bool zeroes_barred = false, zeroes_nans = false;  // zeros replace rows that are all -inf, or that are NaN
};

// Returns why the library cannot compute the attention; null if it may.
Refusal WhyNotInBlocks(const KernelContext& context, const AttentionProblem& problem);

// Stores the result in `y`, which has the operands' type. REQUIRES: WhyNotInBlocks is null. Errors: a refusal if
// the library has nothing fast for the strides; kInternal if it fails; kResourceExhausted if there is no memory.
absl::Status AttendInBlocks(KernelContext& context, const AttentionProblem& problem, Tensor& y);

}  // namespace amp

#endif  // AMP_RUNTIME_CPU_ATTENTION_BLOCKS_H_
