// What a kernel or a library does to its result before it is stored.
//
//   y = relu(convolution + residual)      steps: combine with `residual` by kAdd, then the function kRelu
#ifndef AMP_RUNTIME_DEVICE_RAW_RESULT_STEP_H_
#define AMP_RUNTIME_DEVICE_RAW_RESULT_STEP_H_

#include <cstdint>

#include "runtime/device/raw/element.h"
#include "runtime/device/raw/functions.h"

namespace amp::device {

// What is done to every element of a result, in float32, before it is stored.
struct ResultStep {
  enum class Operand : int32_t {
    kNone,      // y = function(y) with a and b
    kOne,       // y = combine(y, operand): one number,
    kChannels,  //   one for each channel,
    kWhole,     //   one for each element of y
  };
  Operand operand = Operand::kNone;
  UnaryFunction function = UnaryFunction::kRelu;
  float a = 0, b = 0;
  BinaryFunction combine = BinaryFunction::kAdd;
  const void* elements = nullptr;  // of the operand; of x's type
};
inline constexpr int32_t kMaxResultSteps = 8;

// `at`: the element of the result; `channel`: the one that it is of.
AMP_BOTH inline float Apply(const ResultStep& step, Storage storage, int64_t at, int64_t channel, float x) {
  switch (step.operand) {
    case ResultStep::Operand::kNone:
      return Apply(step.function, x, step.a, step.b);
    case ResultStep::Operand::kOne:
      return Apply(step.combine, x, LoadFloat(step.elements, storage, 0));
    case ResultStep::Operand::kChannels:
      return Apply(step.combine, x, LoadFloat(step.elements, storage, channel));
    case ResultStep::Operand::kWhole:
      return Apply(step.combine, x, LoadFloat(step.elements, storage, at));
  }
  return x;
}

}  // namespace amp::device

#endif  // AMP_RUNTIME_DEVICE_RAW_RESULT_STEP_H_
