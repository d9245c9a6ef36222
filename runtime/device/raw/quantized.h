// Arithmetic on 8-bit integers that represent numbers: (q - zero point) * scale.
//
// Results have the same bits as the processor's. The number that a byte represents, and the product of two scales and a
// sum of products, have fewer digits than float64, so it does not matter whether a device rounds a product before it
// adds it.
#ifndef AMP_RUNTIME_DEVICE_RAW_QUANTIZED_H_
#define AMP_RUNTIME_DEVICE_RAW_QUANTIZED_H_

#include <cmath>
#include <cstdint>

#include "runtime/device/raw/element.h"
#include "runtime/device/raw/functions.h"
#include "runtime/device/raw/kernels.h"
#include "runtime/device/raw/shape.h"

namespace amp::device {

// ---- floats to integers and back ------------------------------------------------------------------------------------

// Scales and zero points in a device's memory, one for each index of an axis, or one in all. Element i uses number i /
// inner % scales.
struct ScaleRuns {
  const void *scale, *zero_point;  // zero_point null: all are 0
  Storage scale_storage;
  uint32_t scales, inner;
};

// Returns round(quotient) + zero_point, saturated to the type. NaN becomes the lowest number.
AMP_BOTH inline int32_t ToByte(float quotient, float zero_point, Storage storage) {
  const float low = storage == Storage::kInt8 ? -128 : 0, high = low + 255;
  const float shifted = rintf(quotient) + zero_point;
  const float held = shifted > high ? high : shifted;
  return static_cast<int32_t>(held >= low ? held : low);
}

// Computes y = round(x / scale) + zero point; the quotient is rounded to the scale's type.
struct QuantizeArguments {
  static constexpr Kernel kKernel = Kernel::kQuantize;
  const void* x;
  void* y;
  Storage x_storage, y_storage;  // y_storage: also of the zero point
  uint32_t count;
  ScaleRuns runs;
};

struct QuantizeBody {
  QuantizeArguments quantize;
  AMP_BOTH void operator()(uint32_t i) const {
    const ScaleRuns& runs = quantize.runs;
    const uint32_t k = i / runs.inner % runs.scales;
    const float x = LoadFloat(quantize.x, quantize.x_storage, i), scale = LoadFloat(runs.scale, runs.scale_storage, k);
    const int64_t zero = runs.zero_point == nullptr ? 0 : LoadInteger(runs.zero_point, quantize.y_storage, k);
    const float quotient = RoundedTo(runs.scale_storage, x / scale);
    StoreInteger(quantize.y, quantize.y_storage, i, ToByte(quotient, static_cast<float>(zero), quantize.y_storage));
  }
};

template <typename Runner>
int Start(Runner& runner, const QuantizeArguments& quantize) {
  return runner.ForEach(quantize.count, QuantizeBody{quantize});
}

// Computes y = (x - zero point) * scale, of the scale's type.
struct DequantizeArguments {
  static constexpr Kernel kKernel = Kernel::kDequantize;
  const void* x;
  void* y;
  Storage x_storage;  // also of the zero point
  uint32_t count;
  ScaleRuns runs;
};

struct DequantizeBody {
  DequantizeArguments dequantize;
  AMP_BOTH void operator()(uint32_t i) const {
    const ScaleRuns& runs = dequantize.runs;
    const uint32_t k = i / runs.inner % runs.scales;
    const int64_t zero = runs.zero_point == nullptr ? 0 : LoadInteger(runs.zero_point, dequantize.x_storage, k);
    const int64_t number = LoadInteger(dequantize.x, dequantize.x_storage, i) - zero;
    const double scale = LoadFloat(runs.scale, runs.scale_storage, k);
    StoreFloat(dequantize.y, runs.scale_storage, i, static_cast<float>(static_cast<double>(number) * scale));
  }
};

template <typename Runner>
int Start(Runner& runner, const DequantizeArguments& dequantize) {
  return runner.ForEach(dequantize.count, DequantizeBody{dequantize});
}

// Finds the scale and the zero point, uint8, that span the numbers and 0; 1 and 0 if all are 0. NaN is ignored.
struct FindRangeArguments {
  static constexpr Kernel kKernel = Kernel::kFindRange;
  const float* x;
  uint32_t count;
  float* scale;
  uint8_t* zero_point;
};

struct FindRangeBody {
  FindRangeArguments find;

  template <typename Team>
  AMP_BOTH void operator()(uint32_t, Team& team) const {
    const float* const x = find.x;
    const float highest = find.count == 0 ? 0 : team.Max(find.count, [=](uint32_t i) { return x[i] > 0 ? x[i] : 0; });
    const float depth = find.count == 0 ? 0 : team.Max(find.count, [=](uint32_t i) { return x[i] < 0 ? -x[i] : 0; });
    if (!team.IsFirst()) return;
    const float scale = highest == -depth ? 1 : (highest + depth) / 255;
    *find.scale = scale;
    *find.zero_point = static_cast<uint8_t>(ToByte(depth / scale, 0, Storage::kUint8));
  }
};

template <typename Runner>
int Start(Runner& runner, const FindRangeArguments& find) {
  return runner.ForRows(1, FindRangeBody{find});
}

// ---- integers to integers -------------------------------------------------------------------------------------------

// The scale, zero point and type of a tensor's integers.
struct QuantizedNumbers {
  double scale;
  int32_t zero_point;
  Storage storage;  // int8 or uint8
};

AMP_BOTH inline double NumberAt(const void* x, const QuantizedNumbers& of, int64_t at) {
  return static_cast<double>(LoadInteger(x, of.storage, at) - of.zero_point) * of.scale;
}

// Stores round(quotient) + zero point, saturated to the type. REQUIRES: the quotient is not NaN.
AMP_BOTH inline void StoreQuotient(void* y, const QuantizedNumbers& of, int64_t at, float quotient) {
  const auto zero_point = static_cast<float>(of.zero_point);
  const float low = (of.storage == Storage::kInt8 ? -128.0f : 0.0f) - zero_point, high = low + 255;
  const float least = quotient < low ? low : quotient, held = least > high ? high : least;
  StoreInteger(y, of.storage, at, static_cast<int64_t>(rintf(held)) + of.zero_point);
}

// Computes y = a + b or a * b, for the numbers that the integers represent.
struct QuantizedPairArguments {
  static constexpr Kernel kKernel = Kernel::kQuantizedPair;
  const void *a, *b;
  void* y;
  uint32_t count;
  StridedShape<2> shape;
  QuantizedNumbers of_a, of_b, of_y;
  BinaryFunction function;
};

struct QuantizedPairBody {
  QuantizedPairArguments pair;
  AMP_BOTH void operator()(uint32_t i) const {
    int64_t places[2];
    pair.shape.PlacesOf(i, places);
    const double a = NumberAt(pair.a, pair.of_a, places[0]), b = NumberAt(pair.b, pair.of_b, places[1]);
    const double result = pair.function == BinaryFunction::kAdd ? a + b : a * b;
    StoreQuotient(pair.y, pair.of_y, i, static_cast<float>(result / pair.of_y.scale));
  }
};

template <typename Runner>
int Start(Runner& runner, const QuantizedPairArguments& pair) {
  return runner.ForEach(pair.count, QuantizedPairBody{pair});
}

// Computes y = table[x] of bytes, in blocks of `run` bytes that are `step` bytes apart in y.
struct QuantizedTableArguments {
  static constexpr Kernel kKernel = Kernel::kQuantizedTable;
  const uint8_t* x;
  uint8_t* y;
  uint32_t count, run;
  int64_t first, step;
  uint8_t table[256];
};

struct QuantizedTableBody {
  QuantizedTableArguments look;
  AMP_BOTH void operator()(uint32_t i) const {
    look.y[look.first + i / look.run * look.step + i % look.run] = look.table[look.x[i]];
  }
};

template <typename Runner>
int Start(Runner& runner, const QuantizedTableArguments& look) {
  return runner.ForEach(look.count, QuantizedTableBody{look});
}

// Computes y[row] = mean of x[row, size]. Sums are exact in float32, as rows have at most kMostOfMean elements.
inline constexpr uint32_t kMostOfMean = (1u << 24) / 255;
struct QuantizedMeanArguments {
  static constexpr Kernel kKernel = Kernel::kQuantizedMean;
  const void* x;
  void* y;
  uint32_t rows, size;
  QuantizedNumbers of_x, of_y;
};

struct QuantizedMeanBody {
  QuantizedMeanArguments mean;

  template <typename Team>
  AMP_BOTH void operator()(uint32_t row, Team& team) const {
    const int64_t first = static_cast<int64_t>(row) * mean.size;
    const float sum = team.Sum(mean.size, [=, this](uint32_t i) {
      return static_cast<float>(LoadInteger(mean.x, mean.of_x.storage, first + i));
    });
    if (!team.IsFirst()) return;
    const double total = static_cast<double>(sum) - static_cast<double>(mean.size) * mean.of_x.zero_point;
    const double number = total * mean.of_x.scale / static_cast<double>(mean.size);
    StoreQuotient(mean.y, mean.of_y, row, static_cast<float>(number / mean.of_y.scale));
  }
};

template <typename Runner>
int Start(Runner& runner, const QuantizedMeanArguments& mean) {
  return runner.ForRows(mean.rows, QuantizedMeanBody{mean});
}

}  // namespace amp::device

#endif  // AMP_RUNTIME_DEVICE_RAW_QUANTIZED_H_
