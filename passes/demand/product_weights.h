// The weights of a product by a constant, as far as they tell what it makes of sizes and bounds.
#ifndef AMP_PASSES_DEMAND_PRODUCT_WEIGHTS_H_
#define AMP_PASSES_DEMAND_PRODUCT_WEIGHTS_H_

#include <cstddef>
#include <cstdint>

#include "ir/graph/graph.h"

namespace amp {

// Where the weights of one output lie: along `axis` the outputs differ; blocks of batches or groups lie behind another.
struct WeightsLayout {
  size_t axis = 0;
  size_t blocks = 0;  // 0: the weights are no constant that can be read
};

struct ProductWeights {
  double norm = 0;          // the largest 2-norm of the weights behind one output
  double absolute_sum = 0;  // the largest sum of magnitudes behind one
  int64_t terms = 0;        // behind one output; 0: the weights are too many to be read, or no constant
  bool is_non_negative = false, is_whole = false;
};

// The layout of operand `port` of MatMul, Gemm, Conv or ConvTranspose.
WeightsLayout LayoutOfWeights(const Model& model, NodeId product, size_t port);

// Reads at most 2^16 weights.
ProductWeights ReadProductWeights(const Model& model, ValueId weights, const WeightsLayout& layout);

}  // namespace amp

#endif  // AMP_PASSES_DEMAND_PRODUCT_WEIGHTS_H_
