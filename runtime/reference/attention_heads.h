// Heads of attention, on float64 tensors: splits them from the last axis, joins them to it again, and puts keys and
// values of earlier steps ahead of those of this one.
#ifndef AMP_RUNTIME_REFERENCE_ATTENTION_HEADS_H_
#define AMP_RUNTIME_REFERENCE_ATTENTION_HEADS_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "runtime/kernel/kernel.h"
#include "runtime/kernel/tensor.h"

namespace amp {

// [B, L, H * E] as [B, H, L, E]; a tensor of rank 4 is that already. `name`: what errors call the number of heads.
absl::StatusOr<Tensor> SplitHeads(const Tensor& x, int64_t heads, absl::string_view name);

// [B, H, L, E] as [B, L, H * E].
absl::StatusOr<Tensor> JoinHeads(const Tensor& x);

// `past`, and x after it along axis 2. Errors: other axes that differ.
absl::StatusOr<Tensor> AppendToPast(const Tensor& past, const Tensor& x);

// Elements [first, first + count) of the last axis. REQUIRES: x has them.
absl::StatusOr<Tensor> Columns(const Tensor& x, int64_t first, int64_t count);

// Output `port`, if the node has it, is x in another type.
absl::Status SetRounded(KernelContext& context, size_t port, const Tensor& x, DType dtype);

}  // namespace amp

#endif  // AMP_RUNTIME_REFERENCE_ATTENTION_HEADS_H_
