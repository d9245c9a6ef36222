// Attention of a few queries, as a step of a decoder has: keys and values are read once, where they lie and in the type
// in which they are stored.
#ifndef AMP_RUNTIME_CPU_FEW_QUERIES_H_
#define AMP_RUNTIME_CPU_FEW_QUERIES_H_

#include "absl/status/status.h"
#include "runtime/cpu/score_rows.h"
#include "runtime/kernel/kernel.h"
#include "runtime/kernel/tensor.h"

namespace amp {

Refusal WhyNotFewQueries(const AttentionProblem& problem);
absl::Status AttendFewQueries(KernelContext& context, const AttentionProblem& problem, Tensor& y);

inline constexpr AttentionWay kByFewQueries = {WhyNotFewQueries, AttendFewQueries};

}  // namespace amp

#endif  // AMP_RUNTIME_CPU_FEW_QUERIES_H_
