// Kernels over images: resampling along an axis, and normalising by neighbouring channels.
#ifndef AMP_RUNTIME_DEVICE_RAW_IMAGES_H_
#define AMP_RUNTIME_DEVICE_RAW_IMAGES_H_

#include <cmath>
#include <cstdint>

#include "runtime/device/raw/element.h"
#include "runtime/device/raw/kernels.h"

namespace amp::device {

// ---- y[outer, i, inner] = sum of weights times x[outer, element, inner] ---------------------------------------------

struct WeightedPlace {
  uint32_t element;
  float weight;
};

struct ResampleArguments {
  static constexpr Kernel kKernel = Kernel::kResample;
  const void* x;
  void* y;
  Storage x_storage, y_storage;
  uint32_t count;  // of y
  uint32_t in, out, inner;
  const uint32_t* begins;  // output i is the sum of terms [begins[i], begins[i + 1])
  const WeightedPlace* terms;
};

struct ResampleBody {
  ResampleArguments resample;
  AMP_BOTH void operator()(uint32_t i) const {
    const uint32_t within = i % resample.inner, line = i / resample.inner;
    const int64_t first = static_cast<int64_t>(line / resample.out) * resample.in * resample.inner + within;
    const uint32_t output = line % resample.out;
    float sum = 0;
    for (uint32_t term = resample.begins[output]; term < resample.begins[output + 1]; ++term) {
      const WeightedPlace& place = resample.terms[term];
      const int64_t at = first + static_cast<int64_t>(place.element) * resample.inner;
      sum += place.weight * LoadFloat(resample.x, resample.x_storage, at);
    }
    StoreFloat(resample.y, resample.y_storage, i, sum);
  }
};

template <typename Runner>
int Start(Runner& runner, const ResampleArguments& resample) {
  return runner.ForEach(resample.count, ResampleBody{resample});
}

// ---- local response normalization -----------------------------------------------------------------------------------

// Computes y = x / (bias + alpha * sum of squares of channels [c - before, c + after])^beta for [N, channels, pixels].
struct NormalizeNeighboursArguments {
  static constexpr Kernel kKernel = Kernel::kNormalizeNeighbours;
  const void* x;
  void* y;
  Storage storage;
  uint32_t count, channels, pixels;
  uint32_t before, after;
  float alpha, beta, bias;
};

struct NormalizeNeighboursBody {
  NormalizeNeighboursArguments norm;
  AMP_BOTH void operator()(uint32_t i) const {
    const uint32_t channel = i / norm.pixels % norm.channels, rest = norm.channels - 1 - channel;
    const uint32_t before = channel < norm.before ? channel : norm.before,
                   after = rest < norm.after ? rest : norm.after;
    float squares = 0;
    for (uint32_t neighbour = 0; neighbour <= before + after; ++neighbour) {
      const int64_t at = static_cast<int64_t>(i) + (static_cast<int64_t>(neighbour) - before) * norm.pixels;
      const float x = LoadFloat(norm.x, norm.storage, at);
      squares += x * x;
    }
    const float x = LoadFloat(norm.x, norm.storage, i);
    StoreFloat(norm.y, norm.storage, i, x / powf(norm.bias + norm.alpha * squares, norm.beta));
  }
};

template <typename Runner>
int Start(Runner& runner, const NormalizeNeighboursArguments& norm) {
  return runner.ForEach(norm.count, NormalizeNeighboursBody{norm});
}

}  // namespace amp::device

#endif  // AMP_RUNTIME_DEVICE_RAW_IMAGES_H_
