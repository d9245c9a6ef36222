// Norms and softmax that a model writes out, fused.
//
//   d = x - ReduceMean (x)   v = ReduceMean (d * d)  y = d / Sqrt (v + eps) * scale + shift LayerNorm (x, scale, shift)
//
// Statistics are float32 whatever the types of input and result, which may differ where casts stood around the norm.
#ifndef AMP_RUNTIME_LOOPS_FUSED_NORMS_H_
#define AMP_RUNTIME_LOOPS_FUSED_NORMS_H_

#include "ir/patterns/pattern.h"
#include "runtime/kernel/kernel.h"

namespace amp {

// The facts of the nodes that the kernel needs.
struct NormForm : KernelState {
  PatternKind kind = PatternKind::kLayerNorm;
  size_t num_axes = 1;  // the last ones; of a softmax: the place of its one axis from the end
  int64_t groups = 0;   // kGroupNorm
  double epsilon = 0;
  DType stored_as = DType::kFloat32;  // the result
};

// The row that computes such patterns, of inputs x, scale and shift; null where none does.
const KernelRow* FindNormRow(PatternKind kind);

}  // namespace amp

#endif  // AMP_RUNTIME_LOOPS_FUSED_NORMS_H_
