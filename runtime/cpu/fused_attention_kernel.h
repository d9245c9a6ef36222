// Computes fused attention on the processor, in blocks of rows.
#ifndef AMP_RUNTIME_CPU_FUSED_ATTENTION_KERNEL_H_
#define AMP_RUNTIME_CPU_FUSED_ATTENTION_KERNEL_H_

#include "runtime/kernel/kernel.h"

namespace amp {

// Returns the kernel row for fused attention. Inputs: queries, keys, values, masks. State: FusedAttention.
const KernelRow& FusedAttentionRow();

}  // namespace amp

#endif  // AMP_RUNTIME_CPU_FUSED_ATTENTION_KERNEL_H_
