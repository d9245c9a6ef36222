// Attention that a model writes out, fused, with the transpositions around it.
//
//   qt = Transpose <perm = [0,2,1,3]> (q) ... y = Transpose <perm = [0,2,1,3]> (MatMul (Softmax (...), vt))
//     =>   Attention (q, k, v, masks)
#ifndef AMP_RUNTIME_KERNEL_FUSED_ATTENTION_H_
#define AMP_RUNTIME_KERNEL_FUSED_ATTENTION_H_

#include <array>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "ir/patterns/pattern.h"
#include "runtime/kernel/kernel.h"

namespace amp {

// The facts of the nodes that the kernel needs. The fused pattern's inputs are queries, keys, values, masks.
struct FusedAttention : KernelState {
  AttentionForm form;
  // The orders of axes that bring queries, keys, values and the result into the form's layout; empty: as they are.
  std::array<std::vector<int64_t>, 3> orders;
  std::vector<int64_t> order_of_result;
  bool zeroes_nans = false;
};

// A tensor as [batch, heads, rows, columns], wherever its elements are; 0: the same for all.
struct HeadView {
  Dims dims;
  std::array<int64_t, 4> strides = {};
};

struct AttentionViews {
  HeadView q, k, v, y;  // rows are queries or keys; of k and v batch and heads are q's, or 1
  Dims scores;          // without the axes that q does not have
  Dims stored;          // of the result
};

// How the operands lie. Errors: a refusal: shapes that do not fit, or of other ranks than 2 to 4.
absl::StatusOr<AttentionViews> ViewsOfAttention(const KernelContext& context, const FusedAttention& fused);

}  // namespace amp

#endif  // AMP_RUNTIME_KERNEL_FUSED_ATTENTION_H_
