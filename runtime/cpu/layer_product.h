// The products of recurrent layers: rows of float32 times weights of the layer, with one set of them for each direction.
//
//   gates of all steps:  y[steps * batch, gates * hidden] = x[steps * batch, input] W + b
//   of a step's state:   y[batch, gates * hidden] = h[batch, hidden] R
#ifndef AMP_RUNTIME_CPU_LAYER_PRODUCT_H_
#define AMP_RUNTIME_CPU_LAYER_PRODUCT_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "runtime/kernel/tensor.h"

namespace amp {

struct LayerProductSizes {
  int64_t rows, inputs, outputs;
};

class LayerProduct {
 public:
  virtual ~LayerProduct() = default;
  // y[rows, outputs] = a[rows, inputs] times the weights of a direction, plus its bias. May write up to the next multiple
  // of kVectorGranule. `scratch`: of scratch_bytes(). Error: kInternal, the library failed.
  virtual absl::Status Run(size_t direction, const float* a, float* y, void* scratch) const = 0;
  virtual size_t scratch_bytes() const = 0;
  virtual absl::string_view implementation() const = 0;  // what computes it
};
using MadeLayerProduct = absl::StatusOr<std::unique_ptr<LayerProduct>>;

// Of one direction.
struct FloatWeights {
  absl::Span<const float> w;     // [outputs, inputs]
  absl::Span<const float> bias;  // [outputs]; empty: none, in every direction
};
// By the library, or a loop where the left side is one small row: that is done before the library has begun. Errors:
// kUnimplemented, the library does not do it; kResourceExhausted.
MadeLayerProduct MakeFloatProduct(const LayerProductSizes& sizes, absl::Span<const FloatWeights> directions);

// Of one direction: what stands for (w - zero point) * scale.
struct QuantizedWeights {
  Tensor w;                          // [inputs, outputs] of int8 or uint8
  std::vector<float> scales;         // one for each output
  std::vector<int32_t> zero_points;  // likewise
  absl::Span<const float> bias;      // as FloatWeights has it
};
// Rows are quantised together on the way, to uint8 by their range; sums of products are exact, and scaled in float32.
// A row with NaN gives NaN; with an infinity, which leaves no scale, all rows do. Errors: those of MakeFloatProduct.
MadeLayerProduct MakeQuantizedProduct(const LayerProductSizes& sizes, std::vector<QuantizedWeights> directions);

}  // namespace amp

#endif  // AMP_RUNTIME_CPU_LAYER_PRODUCT_H_
