// Weighted sums of a row's elements in float32: what resizing, sampling and moved windows come to.
//
//   y[i] = w0 x[e0] + w1 x[e1] + ...
#ifndef AMP_RUNTIME_LOOPS_WEIGHTED_ROWS_H_
#define AMP_RUNTIME_LOOPS_WEIGHTED_ROWS_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "runtime/forms/resample_axis.h"

namespace amp {

// Weights in float32 of elements that are known.
struct FloatWeights {
  WeightedElements sum;
  std::vector<float> weight;

  explicit FloatWeights(WeightedElements elements)
      : sum(std::move(elements)), weight(sum.weight.begin(), sum.weight.end()) {}

  size_t size() const { return sum.begin.size() - 1; }
  // Sets y[i] to sum i of elements of x, for each of the sums.
  void OfRow(const float* x, float* y) const {
    constexpr size_t kUsual = 4;  // elements between which a point of an image lies
    const int64_t* const element = sum.element.data();
    const float* const w = weight.data();
    for (size_t i = 0; i < size(); ++i) {
      size_t k = sum.begin[i];
      const size_t end = sum.begin[i + 1];
      if (end - k == kUsual) {
        y[i] = w[k] * x[element[k]] + w[k + 1] * x[element[k + 1]] + w[k + 2] * x[element[k + 2]] +
               w[k + 3] * x[element[k + 3]];
        continue;
      }
      float total = 0;
      for (; k < end; ++k) total += w[k] * x[element[k]];
      y[i] = total;
    }
  }
};

}  // namespace amp

#endif  // AMP_RUNTIME_LOOPS_WEIGHTED_ROWS_H_
