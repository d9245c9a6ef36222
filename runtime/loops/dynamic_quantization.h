// Scale and zero point that numbers are quantised to 8 bits with, taken from the numbers themselves, as
// DynamicQuantizeLinear of ONNX does it.
//
//   -1, 0.5, 3      from -1 to 3, 255 steps: scale 4 / 255, zero point 64
#ifndef AMP_RUNTIME_LOOPS_DYNAMIC_QUANTIZATION_H_
#define AMP_RUNTIME_LOOPS_DYNAMIC_QUANTIZATION_H_

#include <cstddef>

namespace amp {

struct DynamicQuantization {
  float scale = 1, zero_point = 0;  // the latter a whole number in [0, 255]
};

// The least range to uint8 that holds all of x[count] and 0; NaN is no part of it. Zeros alone have scale 1. Shared out
// among the threads of the run.
DynamicQuantization DynamicQuantizationOf(const float* x, size_t count);

}  // namespace amp

#endif  // AMP_RUNTIME_LOOPS_DYNAMIC_QUANTIZATION_H_
