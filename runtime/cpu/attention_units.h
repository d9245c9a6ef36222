// Computes attention units on the processor, in blocks of rows.
#ifndef AMP_RUNTIME_CPU_ATTENTION_UNITS_H_
#define AMP_RUNTIME_CPU_ATTENTION_UNITS_H_

#include "runtime/kernel/kernel.h"

namespace amp {

// Returns the kernel row for attention units. Inputs: queries, keys, values, masks. State: AttentionUnit.
const KernelRow& AttentionUnitRow();

}  // namespace amp

#endif  // AMP_RUNTIME_CPU_ATTENTION_UNITS_H_
