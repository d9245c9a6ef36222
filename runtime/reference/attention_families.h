// The families of attention beyond ai.onnx's Attention; reference_kernels.cc puts them into its table.
#ifndef AMP_RUNTIME_REFERENCE_ATTENTION_FAMILIES_H_
#define AMP_RUNTIME_REFERENCE_ATTENTION_FAMILIES_H_

#include "absl/types/span.h"
#include "runtime/kernel/kernel.h"

namespace amp {

absl::Span<const KernelRow> GroupQueryAttentionKernels();
absl::Span<const KernelRow> RotaryEmbeddingKernels();

}  // namespace amp

#endif  // AMP_RUNTIME_REFERENCE_ATTENTION_FAMILIES_H_
