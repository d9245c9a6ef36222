// Steps that a kernel or a library applies to its result before storing it.
//
//   y = relu(convolution + residual)      steps: combine with `residual` by kAdd, then the function kRelu
#ifndef AMP_RUNTIME_DEVICE_RAW_RESULT_STEP_H_
#define AMP_RUNTIME_DEVICE_RAW_RESULT_STEP_H_

#include <cmath>
#include <cstdint>

#include "runtime/device/raw/element.h"
#include "runtime/device/raw/functions.h"

namespace amp::device {

// A step, computed in float32 for every element of a result.
struct ResultStep {
  enum class Operand : int32_t {
    kNone,      // y = function(y), with parameters a and b
    kOne,       // y = combine(y, operand): the operand has one number,
    kChannels,  //   one number for each channel,
    kWhole,     //   or one number for each element of y
  };
  Operand operand = Operand::kNone;
  UnaryFunction function = UnaryFunction::kRelu;
  float a = 0, b = 0;
  BinaryFunction combine = BinaryFunction::kAdd;
  const void* elements = nullptr;  // of the operand, in x's type
};
inline constexpr int32_t kMaxResultSteps = 8;

// Applies one of the functions that steps can have. Supporting all functions, with their reduction of large angles,
// would make convolutions slow.
AMP_BOTH inline float Activate(UnaryFunction function, float x, float a, float b) {
  switch (function) {
    case UnaryFunction::kClip:
      x = x < a ? a : x;
      return x > b ? b : x;
    case UnaryFunction::kElu:
      return x < 0 ? a * expm1f(x) : x;
    case UnaryFunction::kGelu:
      return Gelu(x);
    case UnaryFunction::kGeluTanh:
      return GeluTanh(x);
    case UnaryFunction::kHardSigmoid:
      return HardSigmoid(x, a, b);
    case UnaryFunction::kHardSwish:
      return x * HardSigmoid(x, 1.0f / 6, 0.5f);
    case UnaryFunction::kLeakyRelu:
      return x < 0 ? a * x : x;
    case UnaryFunction::kLinear:
      return a * x + b;
    case UnaryFunction::kRelu:
      return x < 0 ? 0 : x;
    case UnaryFunction::kSigmoid:
      return Sigmoid(x);
    case UnaryFunction::kSwish:
      return x * Sigmoid(a * x);
    case UnaryFunction::kTanh:
      return tanhf(x);
    default:
      return x;
  }
}

AMP_BOTH inline float Combine(BinaryFunction function, float x, float y) {
  return function == BinaryFunction::kAdd ? x + y : x * y;
}

// Applies a step to x. `at`: index of the element in the result; `channel`: the element's channel.
AMP_BOTH inline float Apply(const ResultStep& step, Storage storage, int64_t at, int64_t channel, float x) {
  switch (step.operand) {
    case ResultStep::Operand::kNone:
      return Activate(step.function, x, step.a, step.b);
    case ResultStep::Operand::kOne:
      return Combine(step.combine, x, LoadFloat(step.elements, storage, 0));
    case ResultStep::Operand::kChannels:
      return Combine(step.combine, x, LoadFloat(step.elements, storage, channel));
    case ResultStep::Operand::kWhole:
      return Combine(step.combine, x, LoadFloat(step.elements, storage, at));
  }
  return x;
}

}  // namespace amp::device

#endif  // AMP_RUNTIME_DEVICE_RAW_RESULT_STEP_H_
