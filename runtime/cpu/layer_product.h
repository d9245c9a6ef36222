// The products of recurrent layers: rows of float32 times the layer's weights, of which each direction has its own.
//
//   gates of all steps:  y[steps * batch, gates * hidden] = x[steps * batch, input] W + b
//   state of one step:   y[batch, gates * hidden] = h[batch, hidden] R
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
  // Computes y[rows, outputs] = a[rows, inputs] times the weights of a direction, plus its bias. May write to y up to
  // the next multiple of kVectorGranule elements. `scratch`: scratch_bytes() bytes. Error: kInternal if the library
  // fails.
  virtual absl::Status Run(size_t direction, const float* a, float* y, void* scratch) const = 0;
  virtual size_t scratch_bytes() const = 0;
  virtual absl::string_view implementation() const = 0;  // name of the implementation, for reports
};
using MadeLayerProduct = absl::StatusOr<std::unique_ptr<LayerProduct>>;

// The weights of one direction.
struct FloatWeights {
  absl::Span<const float> w;     // [outputs, inputs]
  absl::Span<const float> bias;  // [outputs]; empty in every direction: no bias
};
// Uses the library, or a loop if the left matrix is a single row and the weights are small: the loop is done before the
// library would have begun. Errors: a refusal if the library cannot compute it; kResourceExhausted.
MadeLayerProduct MakeFloatProduct(const LayerProductSizes& sizes, absl::Span<const FloatWeights> directions);

// Whether a product of so few rows reads the weights as they are stored faster than a packed copy.
bool ReadsStoredWeights(const LayerProductSizes& sizes, DType dtype);
// The weights of all directions where they lie: rows [outputs, inputs] of a direction begin at `firsts[direction]`
// elements. Biases as in FloatWeights; none: no bias.
MadeLayerProduct MakeStoredProduct(const LayerProductSizes& sizes, Tensor weights, std::vector<size_t> firsts,
                                   absl::Span<const absl::Span<const float>> biases);

// The quantised weights of one direction. They stand for (w - zero point) * scale.
struct QuantizedWeights {
  Tensor w;                          // [inputs, outputs] of int8 or uint8
  std::vector<float> scales;         // one for each output
  std::vector<int32_t> zero_points;  // one for each output
  absl::Span<const float> bias;      // as in FloatWeights
};
// The product quantises all rows of a together to uint8, by their range. Sums of products are exact, and then scaled in
// float32. A row with NaN gives NaN. An infinity leaves no scale, and makes all rows NaN. Errors: those of
// MakeFloatProduct.
MadeLayerProduct MakeQuantizedProduct(const LayerProductSizes& sizes, std::vector<QuantizedWeights> directions);

}  // namespace amp

#endif  // AMP_RUNTIME_CPU_LAYER_PRODUCT_H_
