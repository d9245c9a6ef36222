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

#include "absl/status/status.h"
#include "runtime/cpu/score_rows.h"
#include "runtime/kernel/kernel.h"
#include "runtime/kernel/tensor.h"

namespace amp {

Refusal WhyNotInBlocks(const AttentionProblem& problem);

// Errors: a refusal if the library has nothing fast for the strides; kInternal if it fails; kResourceExhausted if there
// is no memory.
absl::Status AttendInBlocks(KernelContext& context, const AttentionProblem& problem, Tensor& y);

inline constexpr AttentionWay kInBlocks = {WhyNotInBlocks, AttendInBlocks};

}  // namespace amp

#endif  // AMP_RUNTIME_CPU_ATTENTION_BLOCKS_H_
