// Steps of optimizers that one kernel does for the weights of several nodes at once.
//
//   v, m = ai.amp.Momentum (w, g, n, rate)   w, k = ai.amp.Momentum (x, h, l, rate)
//     =>   v, m, w, k = Momentum (w, g, n, rate, x, h, l, rate)
#ifndef AMP_RUNTIME_KERNEL_FUSED_OPTIMIZER_H_
#define AMP_RUNTIME_KERNEL_FUSED_OPTIMIZER_H_

#include <array>
#include <cstddef>

#include "runtime/kernel/kernel.h"

namespace amp {

using OptimizerAttributes = std::array<const char*, 4>;  // names; null where there are fewer

// A kernel for nodes of one operator, whose operands and results follow one another.
struct FusedOptimizer {
  KernelRow row;
  size_t num_inputs, num_outputs;  // of a node
  size_t first_rate;               // from this port on all nodes have the same inputs,
  bool is_conditional;             // and in port 0, too,
  OptimizerAttributes attributes;  // and these floats
};

}  // namespace amp

#endif  // AMP_RUNTIME_KERNEL_FUSED_OPTIMIZER_H_
