// Attention over blocks of rows: softmax(masks(cap(scale q k'))) v, of which no more scores are there at a time than stay
// in a near cache.
//
//   for each batch and head, or several heads where they are small, shared out among the threads:
//     for each block of queries:  scores = scale q k' by the library,  softmax of their rows by loops,  y = scores v
//
// Operands are read where they lie, by strides: a model's transpositions around attention cost nothing. What has another
// type than the library computes in is gathered block by block, and so are heads that are small. Rows are computed in
// float32 whatever the types are. Idea: Rabe and Staats, "Self-attention does not need O(n^2) memory" (2021).
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
  float fill = 0;            // of scores that are not kept
  HeadOperand operand = {};  // [batch, heads, queries, keys], 0 where it is repeated
};

struct AttentionProblem {
  int64_t batch = 1, heads = 1, queries = 1, keys = 1, size = 1, value_size = 1;
  int64_t heads_per_key = 1;  // so many heads of queries in a row share one of keys and values
  HeadOperand q, k, v;        // of one type: float32, float16 or bfloat16; rows are queries or keys
  HeadStrides y = {};
  float scale = 1, soft_cap = 0;  // soft_cap 0: none
  std::vector<ScoreMask> masks = {};
  int64_t past = -1;                                // at least 0: query i sees keys up to i + past; -1: all
  bool zeroes_barred = false, zeroes_nans = false;  // rows of nothing but -inf, or of NaN, become zeros
};

// Why the library does not do that; null where it may.
Refusal WhyNotInBlocks(const KernelContext& context, const AttentionProblem& problem);

// Stores into `y`, which has the type of the operands. REQUIRES: WhyNotInBlocks is null. Errors: kUnimplemented (the
// library has nothing fast for the strides), kInternal (it fails), memory.
absl::Status AttendInBlocks(KernelContext& context, const AttentionProblem& problem, Tensor& y);

}  // namespace amp

#endif  // AMP_RUNTIME_CPU_ATTENTION_BLOCKS_H_
