#include "runtime/reference/attention.h"

#include <algorithm>
#include <cmath>

#include "ir/base/status.h"
#include "runtime/kernel/shape_math.h"
#include "runtime/reference/accumulator.h"
#include "runtime/reference/matrix_product.h"

namespace amp {
namespace {

// [B, Hq, L, ..] as [B, Hkv, Hq / Hkv * L, ..]: the rows of all heads that share one of k or v.
absl::StatusOr<Tensor> BySharedHead(const Tensor& x, int64_t heads) {
  const int64_t rows = heads == 0 ? 0 : x.dim(1) / heads * x.dim(2);
  return Reshape(x, {x.dim(0), heads, rows, x.dim(3)});
}

}  // namespace

absl::Status CheckAttention(const Tensor& q, const Tensor& k, const Tensor& v) {
  if (q.rank() == 4 && k.rank() == 4 && v.rank() == 4) {
    const bool batches = q.dim(0) == k.dim(0) && q.dim(0) == v.dim(0);
    const bool heads = k.dim(1) == v.dim(1) && (k.dim(1) == 0 ? q.dim(1) == 0 : q.dim(1) % k.dim(1) == 0);
    if (batches && heads && k.dim(2) == v.dim(2) && q.dim(3) == k.dim(3)) return absl::OkStatus();
  }
  return ModelError("expected Q [B, Hq, L, E], K [B, Hkv, S, E] and V [B, Hkv, S, Ev], found ", q.TypeText(), ", ",
                    k.TypeText(), " and ", v.TypeText());
}

absl::StatusOr<Tensor> AttentionScores(const Tensor& q, const Tensor& k, double scale) {
  AMP_ASSIGN_OR_RETURN(const Tensor transposed, TransposeMatrices(k));
  AMP_ASSIGN_OR_RETURN(const Tensor queries, BySharedHead(q, k.dim(1)));
  AMP_ASSIGN_OR_RETURN(Tensor scores, MultiplyMatrices(queries, transposed));
  for (double& score : scores.mutable_elements<double>()) score *= scale;
  return Reshape(scores, {q.dim(0), q.dim(1), q.dim(2), k.dim(2)});
}

absl::StatusOr<Tensor> MixValues(const Tensor& probabilities, const Tensor& v) {
  AMP_ASSIGN_OR_RETURN(const Tensor rows, BySharedHead(probabilities, v.dim(1)));
  AMP_ASSIGN_OR_RETURN(const Tensor y, MultiplyMatrices(rows, v));
  return Reshape(y, {probabilities.dim(0), probabilities.dim(1), probabilities.dim(2), v.dim(3)});
}

void SoftmaxRow(absl::Span<double> row) {
  if (row.empty()) return;
  const double largest = *std::max_element(row.begin(), row.end());
  double sum = 0;
  for (double& x : row) sum += x = std::exp(x - largest);
  for (double& x : row) x /= sum;
}

double AttentionScale(std::optional<float> attribute, const Tensor& q) {
  if (attribute.has_value()) return static_cast<double>(*attribute);
  return 1 / std::sqrt(static_cast<double>(q.dim(3)));
}

}  // namespace amp
