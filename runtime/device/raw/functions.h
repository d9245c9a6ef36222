// Functions of one and two float32 numbers, as ONNX defines them.
#ifndef AMP_RUNTIME_DEVICE_RAW_FUNCTIONS_H_
#define AMP_RUNTIME_DEVICE_RAW_FUNCTIONS_H_

#include <cmath>
#include <cstdint>

#include "runtime/device/raw/element.h"

namespace amp::device {

enum class UnaryFunction : int32_t {
  kAbs,
  kAcos,
  kAcosh,
  kAsin,
  kAsinh,
  kAtan,
  kAtanh,
  kCeil,
  kCelu,
  kClip,  // to [a, b]
  kCos,
  kCosh,
  kCube,
  kElu,
  kErf,
  kExp,
  kFloor,
  kGelu,
  kGeluTanh,
  kHardSigmoid,
  kHardSwish,
  kLeakyRelu,
  kLinear,  // a * x + b
  kLog,
  kMish,
  kNegate,
  kReciprocal,
  kReciprocalRoot,
  kRelu,
  kRound,
  kSelu,
  kShrink,
  kSigmoid,
  kSign,
  kSin,
  kSinh,
  kSoftplus,
  kSoftsign,
  kSqrt,
  kSquare,
  kSwish,
  kTan,
  kTanh,
  kThresholdedRelu,
};

enum class BinaryFunction : int32_t { kAdd, kSubtract, kMultiply, kDivide, kMax, kMin, kPower, kPRelu };

enum class Comparison : int32_t { kEqual, kGreater, kGreaterOrEqual, kLess, kLessOrEqual, kHolds /* x alone */ };

AMP_BOTH constexpr int NumFunctions(UnaryFunction) { return static_cast<int>(UnaryFunction::kThresholdedRelu) + 1; }
AMP_BOTH constexpr int NumFunctions(BinaryFunction) { return static_cast<int>(BinaryFunction::kPRelu) + 1; }
AMP_BOTH constexpr int NumFunctions(Comparison) { return static_cast<int>(Comparison::kHolds) + 1; }

template <typename Function, Function kFunction>
struct Constant {
  static constexpr Function kValue = kFunction;
};

AMP_BOTH inline float Sigmoid(float x) {
  const float power = expf(-fabsf(x));
  return (x < 0 ? power : 1) / (1 + power);
}
AMP_BOTH inline float HardSigmoid(float x, float a, float b) {
  const float y = a * x + b;
  return y < 0 ? 0 : y > 1 ? 1 : y;
}
AMP_BOTH inline float Softplus(float x) { return (x > 0 ? x : x == x ? 0 : x) + log1pf(expf(-fabsf(x))); }
// Returns 1 - erf(x) with a relative error of at most 5e-7, in a third of the time that erfcf takes on a device. It is
// e^(-x^2) times a polynomial in t = 1 / (1 + |x| / 2), fitted to minimise the largest relative error. Beyond 15 it is
// 0 in float32.
AMP_BOTH inline float ErrorComplement(float x) {
  constexpr float kFit[] = {0.282084331f, 0.282412113f,  0.242835007f, 0.203752951f,  -0.0291495287f,
                            0.281734721f, -0.490407622f, 0.286124567f, -0.0593865838f};
  constexpr int kDegree = 8;
  float z = fabsf(x);
  z = z > 15 ? 15 : z;
#if defined(__CUDA_ARCH__)
  const float t = __fdividef(1, 1 + 0.5f * z);
#else
  const float t = 1 / (1 + 0.5f * z);
#endif
  float fit = kFit[kDegree];
  for (int i = kDegree - 1; i >= 0; --i) fit = fit * t + kFit[i];
  const float square = z * z, rest = fmaf(z, z, -square);  // rest: the rounding error of the square
  const float complement = t * fit * expf(-square) * (1 - rest);
  return x < 0 ? 2 - complement : complement;
}
// Uses the complement of erf, which keeps its digits where the function is small.
AMP_BOTH inline float Gelu(float x) { return 0.5f * x * ErrorComplement(x * -0.70710678118654752f); }
AMP_BOTH inline float GeluTanh(float x) { return x * Sigmoid(x * (x * x * 0.0713548162726f + 1.59576912160573f)); }
// Computes x * tanh(log(1 + e^x)) from e^x. For x above 20, where the square of e^x could overflow, the factor is 1.
AMP_BOTH inline float Mish(float x) {
  const float power = expf(x > 20 ? 20.0f : x), part = power * (power + 2);
  return x * (part / (part + 2));
}

AMP_BOTH inline float Apply(UnaryFunction function, float x, float a, float b) {
  switch (function) {
    case UnaryFunction::kAbs:
      return fabsf(x);
    case UnaryFunction::kAcos:
      return acosf(x);
    case UnaryFunction::kAcosh:
      return acoshf(x);
    case UnaryFunction::kAsin:
      return asinf(x);
    case UnaryFunction::kAsinh:
      return asinhf(x);
    case UnaryFunction::kAtan:
      return atanf(x);
    case UnaryFunction::kAtanh:
      return atanhf(x);
    case UnaryFunction::kCeil:
      return ceilf(x);
    case UnaryFunction::kCelu:
      return x < 0 ? a * expm1f(x / a) : x;
    case UnaryFunction::kClip:
      x = x < a ? a : x;
      return x > b ? b : x;
    case UnaryFunction::kCos:
      return cosf(x);
    case UnaryFunction::kCosh:
      return coshf(x);
    case UnaryFunction::kCube:
      return x * x * x;
    case UnaryFunction::kElu:
      return x < 0 ? a * expm1f(x) : x;
    case UnaryFunction::kErf:
      return erff(x);
    case UnaryFunction::kExp:
      return expf(x);
    case UnaryFunction::kFloor:
      return floorf(x);
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
    case UnaryFunction::kLog:
      return logf(x);
    case UnaryFunction::kMish:
      return Mish(x);
    case UnaryFunction::kNegate:
      return -x;
    case UnaryFunction::kReciprocal:
      return 1 / x;
    case UnaryFunction::kReciprocalRoot:
      return 1 / sqrtf(x);
    case UnaryFunction::kRelu:
      return x < 0 ? 0 : x;
    case UnaryFunction::kRound:
      return rintf(x);
    case UnaryFunction::kSelu:
      return b * (x > 0 ? x : a * expm1f(x));
    case UnaryFunction::kShrink:
      return x < -b ? x + a : x > b ? x - a : 0;
    case UnaryFunction::kSigmoid:
      return Sigmoid(x);
    case UnaryFunction::kSign:
      return x > 0 ? 1 : x < 0 ? -1 : x;
    case UnaryFunction::kSin:
      return sinf(x);
    case UnaryFunction::kSinh:
      return sinhf(x);
    case UnaryFunction::kSoftplus:
      return Softplus(x);
    case UnaryFunction::kSoftsign:
      return x / (fabsf(x) + 1);
    case UnaryFunction::kSqrt:
      return sqrtf(x);
    case UnaryFunction::kSquare:
      return x * x;
    case UnaryFunction::kSwish:
      return x * Sigmoid(a * x);
    case UnaryFunction::kTan:
      return tanf(x);
    case UnaryFunction::kTanh:
      return tanhf(x);
    case UnaryFunction::kThresholdedRelu:
      return x > a ? x : 0;
  }
  return x;
}

// Return NaN if one of the two is NaN.
AMP_BOTH inline float LargerOf(float x, float y) { return x != x || x > y ? x : y; }
AMP_BOTH inline float SmallerOf(float x, float y) { return x != x || x < y ? x : y; }

AMP_BOTH inline float Apply(BinaryFunction function, float x, float y) {
  switch (function) {
    case BinaryFunction::kAdd:
      return x + y;
    case BinaryFunction::kSubtract:
      return x - y;
    case BinaryFunction::kMultiply:
      return x * y;
    case BinaryFunction::kDivide:
      return x / y;
    case BinaryFunction::kMax:
      return LargerOf(x, y);
    case BinaryFunction::kMin:
      return SmallerOf(x, y);
    case BinaryFunction::kPower:
      return powf(x, y);
    case BinaryFunction::kPRelu:
      return x < 0 ? x * y : x;
  }
  return x;
}

// Calls `visit` with the function as a constant, so that work on many numbers tests only once which function it is.
template <typename Function, int kFirst = 0, typename Visit>
AMP_BOTH void WithConstant(Function function, const Visit& visit) {
  if constexpr (kFirst < NumFunctions(Function())) {
    constexpr auto kFunction = static_cast<Function>(kFirst);
    if (function == kFunction) return visit(Constant<Function, kFunction>());
    WithConstant<Function, kFirst + 1>(function, visit);
  }
}

// Applies a function to integers; kPower and kPRelu are not supported. Results wrap; quotients are truncated towards
// zero.
AMP_BOTH inline int64_t Apply(BinaryFunction function, int64_t x, int64_t y) {
  switch (function) {
    case BinaryFunction::kAdd:
      return static_cast<int64_t>(static_cast<uint64_t>(x) + static_cast<uint64_t>(y));
    case BinaryFunction::kSubtract:
      return static_cast<int64_t>(static_cast<uint64_t>(x) - static_cast<uint64_t>(y));
    case BinaryFunction::kMultiply:
      return static_cast<int64_t>(static_cast<uint64_t>(x) * static_cast<uint64_t>(y));
    case BinaryFunction::kDivide:
      return y == 0 ? 0 : y == -1 ? static_cast<int64_t>(0 - static_cast<uint64_t>(x)) : x / y;
    case BinaryFunction::kMax:
      return x > y ? x : y;
    case BinaryFunction::kMin:
      return x < y ? x : y;
    default:
      return x;
  }
}

template <typename T>
AMP_BOTH bool Compare(Comparison comparison, T x, T y) {
  switch (comparison) {
    case Comparison::kEqual:
      return x == y;
    case Comparison::kGreater:
      return x > y;
    case Comparison::kGreaterOrEqual:
      return x >= y;
    case Comparison::kLess:
      return x < y;
    case Comparison::kLessOrEqual:
      return x <= y;
    case Comparison::kHolds:
      return x != T();
  }
  return false;
}

}  // namespace amp::device

#endif  // AMP_RUNTIME_DEVICE_RAW_FUNCTIONS_H_
