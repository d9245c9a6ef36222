// The bounds of a Clip where its node states none.
#ifndef AMP_RUNTIME_KERNEL_CLIP_BOUNDS_H_
#define AMP_RUNTIME_KERNEL_CLIP_BOUNDS_H_

#include <limits>

#include "ir/base/dtype.h"

namespace amp {

struct ClipBounds {
  double low, high;
};

// Returns the largest finite numbers, so that infinities become finite, as in ONNX Runtime and in ONNX's text. Before
// version 12 ONNX Runtime clips 16-bit values in float32, so that infinities of 16 bits stay. `version`: the
// operator's.
inline ClipBounds AbsentClipBounds(DType dtype, int version) {
  constexpr int kFirstWithDefaults = 6, kFirstInInputs = 11, kFirstOfOwnType = 12;
  if (version < kFirstWithDefaults) {
    return {-std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity()};
  }
  const bool is_own = version >= kFirstOfOwnType || (version >= kFirstInInputs && dtype == DType::kFloat64);
  const double largest = LargestFinite(is_own ? dtype : DType::kFloat32);
  return {-largest, largest};
}

}  // namespace amp

#endif  // AMP_RUNTIME_KERNEL_CLIP_BOUNDS_H_
