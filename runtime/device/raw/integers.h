// Matrix products and convolutions of 8-bit integers with one thread per element of the result. Sums of products are
// int32 and wrap; they may be requantised.
#ifndef AMP_RUNTIME_DEVICE_RAW_INTEGERS_H_
#define AMP_RUNTIME_DEVICE_RAW_INTEGERS_H_

#include <cstdint>

#include "runtime/device/raw/convolution.h"
#include "runtime/device/raw/element.h"
#include "runtime/device/raw/kernels.h"
#include "runtime/device/raw/quantized.h"
#include "runtime/device/raw/shape.h"

namespace amp::device {

// Integers with one zero point, or one for each column or filter.
struct CentredIntegers {
  const void* elements;
  const void* zero_point;  // null: 0
  Storage storage;         // of both
  uint32_t step;           // 1: one zero point for each column or filter; 0: one in all

  AMP_BOTH int32_t ZeroOf(uint32_t which) const {
    return zero_point == nullptr ? 0 : static_cast<int32_t>(LoadInteger(zero_point, storage, which * step));
  }
  AMP_BOTH int32_t At(int64_t at) const { return static_cast<int32_t>(LoadInteger(elements, storage, at)); }
};

// The result of a sum: y = round(sum * factor) + zero point, with one factor for each column or filter.
struct SumResult {
  void* y;
  const double* factors;  // null: y is the sum, int32
  QuantizedNumbers of_y;

  AMP_BOTH void Store(int64_t at, uint32_t which, uint32_t sum) const {
    const auto wrapped = static_cast<int32_t>(sum);
    if (factors == nullptr) {
      static_cast<int32_t*>(y)[at] = wrapped;
    } else {
      StoreQuotient(y, of_y, at, static_cast<float>(static_cast<double>(wrapped) * factors[which]));
    }
  }
};

// Computes y [batch, m, n] = a [m, k] b [k, n] for each matrix of the batch.
struct MultiplyIntegersArguments {
  static constexpr Kernel kKernel = Kernel::kMultiplyIntegers;
  CentredIntegers a, b;  // a has one zero point, b one or one for each column
  SumResult result;
  uint32_t count, m, n, k;  // count: of y
  StridedShape<2> batch;    // offsets of the matrices
};

struct MultiplyIntegersBody {
  MultiplyIntegersArguments product;
  AMP_BOTH void operator()(uint32_t i) const {
    const uint32_t column = i % product.n, row = i / product.n % product.m;
    int64_t places[2];
    product.batch.PlacesOf(i / product.n / product.m, places);
    const int32_t a_zero = product.a.ZeroOf(0), b_zero = product.b.ZeroOf(column);
    const int64_t a_first = places[0] + static_cast<int64_t>(row) * product.k, b_first = places[1] + column;
    uint32_t sum = 0;
    for (uint32_t k = 0; k < product.k; ++k) {
      const int32_t a = product.a.At(a_first + k) - a_zero;
      const int32_t b = product.b.At(b_first + static_cast<int64_t>(k) * product.n) - b_zero;
      sum += static_cast<uint32_t>(a * b);
    }
    product.result.Store(i, column, sum);
  }
};

template <typename Runner>
int Start(Runner& runner, const MultiplyIntegersArguments& product) {
  return runner.ForEach(product.count, MultiplyIntegersBody{product});
}

// Computes y = convolution of x with w + bias. The padding of x has the value of its zero point.
struct ConvolveIntegersArguments {
  static constexpr Kernel kKernel = Kernel::kConvolveIntegers;
  ConvolveArguments places;  // the shape and `count`; its pointers and types are not used
  CentredIntegers x, w;      // x has one zero point, w one or one for each filter
  const int32_t* bias;       // null: none
  SumResult result;
};

struct ConvolveIntegersBody {
  ConvolveIntegersArguments convolve;
  AMP_BOTH void operator()(uint32_t i) const {
    const ConvolveWalk walk{convolve.places};
    const ConvolvePlace place = walk.PlaceOf(i);
    const int32_t x_zero = convolve.x.ZeroOf(0), w_zero = convolve.w.ZeroOf(place.filter);
    uint32_t sum = convolve.bias == nullptr ? 0 : static_cast<uint32_t>(convolve.bias[place.filter]);
    for (uint32_t c = 0; c < convolve.places.group_channels; ++c) {
      const int64_t x_first = walk.FirstOfX(place, c), w_first = walk.FirstOfW(place, c);
      walk.ForEachTap(place.position, [&](int64_t at, int64_t tap) {
        const int32_t x = convolve.x.At(x_first + at) - x_zero, w = convolve.w.At(w_first + tap) - w_zero;
        sum += static_cast<uint32_t>(x * w);
      });
    }
    convolve.result.Store(i, place.filter, sum);
  }
};

template <typename Runner>
int Start(Runner& runner, const ConvolveIntegersArguments& convolve) {
  return runner.ForEach(convolve.places.count, ConvolveIntegersBody{convolve});
}

}  // namespace amp::device

#endif  // AMP_RUNTIME_DEVICE_RAW_INTEGERS_H_
