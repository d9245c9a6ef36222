// Attention and MultiHeadAttention of com.microsoft: the attributes that both have.
//
// Where ONNX Runtime's documentation leaves it open, this follows its CPU provider. Scores that a mask bars get
// `barred` added, so that a row that bars everything is not NaN. Keys ahead of a query get the lowest float instead.
// The causal rule leaves the last query alone.
#ifndef AMP_RUNTIME_FORMS_MULTI_HEAD_H_
#define AMP_RUNTIME_FORMS_MULTI_HEAD_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "ir/graph/graph.h"
#include "runtime/kernel/kernel.h"
#include "runtime/kernel/tensor.h"

namespace amp {

struct MultiHeadForm {
  int64_t heads = 0;
  std::optional<float> scale;  // of the scores; nothing: 1 / sqrt(size of a head)
  float barred = -10000;
  bool is_causal = false;
};

MultiHeadForm ReadMultiHead(const Node& node);

// Returns the widths of q, k and v, which are columns beside each other in Attention's weights. Errors: widths that do
// not make `columns`.
absl::StatusOr<std::vector<int64_t>> ReadMultiHeadWidths(const Node& node, int64_t columns);

// Makes the addend of a mask to scores [batch, heads, queries, keys], of which the first `past` keys are of earlier
// steps: a tensor float32 [batch, 1, queries or 1, keys]. The mask at `port`: lengths [B], ends and then beginnings
// [2 B], or truth values [B, T] or [B, S, T]. Returns an undefined tensor if nothing is added. Errors: a mask that does
// not fit; memory.
absl::StatusOr<Tensor> MakeMultiHeadMask(const KernelContext& context, const MultiHeadForm& form, size_t port,
                                         const Dims& scores, int64_t past);

}  // namespace amp

#endif  // AMP_RUNTIME_FORMS_MULTI_HEAD_H_
