// Attention units on the processor, by blocks of rows.
#ifndef AMP_RUNTIME_CPU_ATTENTION_UNITS_H_
#define AMP_RUNTIME_CPU_ATTENTION_UNITS_H_

#include "runtime/kernel/kernel.h"

namespace amp {

// Of inputs queries, keys, values, masks, and the state AttentionUnit.
const KernelRow& AttentionUnitRow();

}  // namespace amp

#endif  // AMP_RUNTIME_CPU_ATTENTION_UNITS_H_
