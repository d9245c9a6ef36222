// A problem of attention, and the rows of its scores.
#ifndef AMP_RUNTIME_CPU_SCORE_ROWS_H_
#define AMP_RUNTIME_CPU_SCORE_ROWS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "runtime/cpu/head_blocks.h"
#include "runtime/kernel/kernel.h"
#include "runtime/kernel/tensor.h"
#include "runtime/loops/float_parts.h"
#include "runtime/loops/raw/loops.h"

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
  bool has_sink = false;                            // each row has one more score, which gets no key:
  std::vector<float> sinks = {};                    // that of its head; empty: 0
};

// Why no kernel of this folder computes the attention: types, or no elements.
Refusal WhyNotAttention(const AttentionProblem& problem);

// A way to compute it.
struct AttentionWay {
  Refusal (*why_not)(const AttentionProblem& problem);
  // Stores the result in `y`, which has the operands' type. REQUIRES: why_not is null.
  absl::Status (*attend)(KernelContext& context, const AttentionProblem& problem, Tensor& y);
};

class ScoreRows {
 public:
  // The problem outlives this.
  explicit ScoreRows(const AttentionProblem& problem);

  // Turns one row of scores into probabilities.
  void Normalize(const HeadPlace& at, float* row);

 private:
  void Cap(float* row) const;
  void Mask(size_t which, const HeadPlace& at, float* row);

  const AttentionProblem& p_;
  const Loops& loops_;
  size_t keys_;
  std::vector<std::optional<FloatSource>> sources_;  // by mask
  std::vector<float> buffer_;
};

}  // namespace amp

#endif  // AMP_RUNTIME_CPU_SCORE_ROWS_H_
