// Computes fused attention on the processor.
#ifndef AMP_RUNTIME_CPU_FUSED_ATTENTION_KERNEL_H_
#define AMP_RUNTIME_CPU_FUSED_ATTENTION_KERNEL_H_

#include "absl/types/span.h"
#include "runtime/kernel/kernel.h"

namespace amp {

// Returns the kernel rows for fused attention, best first. Inputs: queries, keys, values, masks. State: FusedAttention.
absl::Span<const KernelRow> FusedAttentionRows();

}  // namespace amp

#endif  // AMP_RUNTIME_CPU_FUSED_ATTENTION_KERNEL_H_
