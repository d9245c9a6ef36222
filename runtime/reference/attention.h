// Scaled dot-product attention on float64 tensors: the parts that its operators share.
//
//   scores = q k' * scale;  probabilities = softmax(what the operator makes of the scores);  y = probabilities v
//
// q is [B, Hq, L, E], k [B, Hkv, S, E], v [B, Hkv, S, Ev]; scores and probabilities are [B, Hq, L, S]. Where Hq is a
// multiple of Hkv, so many heads of q in a row share one of k and v.
#ifndef AMP_RUNTIME_REFERENCE_ATTENTION_H_
#define AMP_RUNTIME_REFERENCE_ATTENTION_H_

#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/kernel/tensor.h"

namespace amp {

// Errors: shapes other than those above.
absl::Status CheckAttention(const Tensor& q, const Tensor& k, const Tensor& v);
// REQUIRES of both: CheckAttention.
absl::StatusOr<Tensor> AttentionScores(const Tensor& q, const Tensor& k, double scale);
absl::StatusOr<Tensor> MixValues(const Tensor& probabilities, const Tensor& v);

// In place. A row of nothing but -inf becomes NaN.
void SoftmaxRow(absl::Span<double> row);

// 1 / sqrt(head size), unless the attribute `scale` says otherwise.
double AttentionScale(std::optional<float> attribute, const Tensor& q);

}  // namespace amp

#endif  // AMP_RUNTIME_REFERENCE_ATTENTION_H_
