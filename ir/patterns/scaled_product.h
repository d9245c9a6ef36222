// Matrix work whose constants are multiplied by a power of two, which is taken off behind it. Both are exact.
//
//   y = Conv (x, W, b)           =>   y_scaled = Conv (x, W * 2^20, b * 2^20)    y = Mul (y_scaled, 2^-20)
//   y = Gemm <alpha> (x, W, b)   =>   y = Gemm <alpha * 2^-20> (x, W * 2^20, b)
#ifndef AMP_IR_PATTERNS_SCALED_PRODUCT_H_
#define AMP_IR_PATTERNS_SCALED_PRODUCT_H_

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "ir/graph/constant.h"
#include "ir/graph/graph.h"

namespace amp {

struct ScalableProduct {
  NodeId node = kNone;
  ValueId weights = kNone, bias = kNone;  // bias: kNone where there is none
  int64_t num_terms = 1;                  // that are added up for one element of the result
  bool takes_alpha = false;
  bool takes_mul = false;  // a Mul can take off what constants were multiplied with
};

// Nothing unless the node is a MatMul, Gemm, Conv or ConvTranspose that reads weights which are a float32 constant of
// known size, and is their only reader. Of two constants either might be the one that does not fit, and their product
// is one itself: nothing. REQUIRES: types are inferred.
std::optional<ScalableProduct> FindScalableProduct(const Model& model, NodeId node);

// The constant times 2^exponent; nothing where that is not exact in float32. Errors: reading external data.
absl::StatusOr<std::optional<FloatTensor>> ScaleConstant(const Model& model, ValueId constant, int exponent);

// REQUIRES: takes_mul. Returns the Mul, which gives what the node gave, under the same name.
NodeId ScaleAndMultiply(Model& model, const ScalableProduct& product, int exponent, const FloatTensor& weights,
                        const std::optional<FloatTensor>& bias);

// The alpha that would take 2^exponent off. REQUIRES: takes_alpha.
float AlphaBehind(const Model& model, const ScalableProduct& product, int exponent);
void ScaleAndSetAlpha(Model& model, const ScalableProduct& product, int exponent, const FloatTensor& weights);

}  // namespace amp

#endif  // AMP_IR_PATTERNS_SCALED_PRODUCT_H_
