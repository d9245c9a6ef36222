// Attention that a model writes out, as one unit, with the transpositions around it.
//
//   qt = Transpose <perm = [0,2,1,3]> (q) ... y = Transpose <perm = [0,2,1,3]> (MatMul (Softmax (...), vt))
//     =>   Attention (q, k, v, masks), by blocks of rows
#ifndef AMP_RUNTIME_CPU_ATTENTION_UNITS_H_
#define AMP_RUNTIME_CPU_ATTENTION_UNITS_H_

#include <array>
#include <vector>

#include "ir/patterns/pattern.h"
#include "runtime/kernel/kernel.h"

namespace amp {

// What the kernel has to know of the nodes.
struct AttentionUnit : KernelState {
  AttentionForm form;
  // Of queries, keys and values as they are read, to what the form says of them; empty: as they are. And of the result.
  std::array<std::vector<int64_t>, 3> orders;
  std::vector<int64_t> order_of_result;
  bool zeroes_nans = false;
};

// Of inputs queries, keys, values, masks.
const KernelRow& AttentionUnitRow();

}  // namespace amp

#endif  // AMP_RUNTIME_CPU_ATTENTION_UNITS_H_
