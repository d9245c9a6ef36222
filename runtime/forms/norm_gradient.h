// The gradients of norms, functions of domain ai.amp, in the shapes that fast kernels know. The inputs are x, scale
// and g, the gradient of the output. The outputs are dx and, if a node reads it, dscale:
//
//   rows        statistics of all axes from one on: x [N, T, D], axes [2], scale [D], scale_axes [0, 1]
//   batch       one of each channel: x [N, C, H, W], axes [0, 2, 3], scale [C, 1, 1], scale_axes [0, 2, 3]
//   instances   one of each channel of a sample: x [N, C, H, W], axes [2, 3], scale [C, 1, 1], scale_axes [0, 2, 3]
#ifndef AMP_RUNTIME_FORMS_NORM_GRADIENT_H_
#define AMP_RUNTIME_FORMS_NORM_GRADIENT_H_

#include <cstddef>

#include "runtime/kernel/kernel.h"

namespace amp {

struct NormGradientForm {
  static constexpr size_t kX = 0, kScale = 1, kG = 2;  // inputs
  static constexpr size_t kDx = 0, kDscale = 1;        // outputs

  enum class Shape { kRows, kBatch, kInstances };
};

float ReadNormGradientEpsilon(const KernelContext& context);

// The reason why the node does not have this shape, gives another type than float32 or has nothing to give; null if it
// fits.
Refusal WhyNotNormGradient(const KernelContext& context, NormGradientForm::Shape shape);

}  // namespace amp

#endif  // AMP_RUNTIME_FORMS_NORM_GRADIENT_H_
