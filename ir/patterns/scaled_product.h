// Matrix work whose constants are multiplied by a power of two, which is taken off behind it. Both are exact.
//
//   y = Conv (x, W, b)           =>   y_scaled = Conv (x, W * 2^20, b * 2^20)    y = Mul (y_scaled, 2^-20)
//   y = Gemm <alpha> (x, W, b)   =>   y = Gemm <alpha * 2^-20> (x, W * 2^20, b)
//
// The edit can be taken back as long as no other node reads the value between.
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
  ValueId data = kNone;                   // what is multiplied by the weights
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

constexpr int kLargestExponent = 126;  // of a power of two whose inverse is a normal float32

// A node whose weights are times 2^exponent, which is taken off by the Mul behind it, or by its alpha.
struct ScaledProduct {
  NodeId node = kNone;
  ValueId weights = kNone, bias = kNone;  // bias: where it is multiplied too
  int exponent = 0;
  NodeId mul = kNone;      // it gives what the node gave, under the same name; kNone: alpha
  bool had_alpha = false;  // as an attribute
};

// REQUIRES: takes_mul.
ScaledProduct ScaleAndMultiply(Model& model, const ScalableProduct& product, int exponent, const FloatTensor& weights,
                               const std::optional<FloatTensor>& bias);

// The alpha that would take 2^exponent off. REQUIRES: takes_alpha.
float AlphaBehind(const Model& model, const ScalableProduct& product, int exponent);
ScaledProduct ScaleAndSetAlpha(Model& model, const ScalableProduct& product, int exponent, const FloatTensor& weights);

// Takes that back. False, and no effect, where it does not fit the model, which may have been edited since, or where a
// constant would not be exact. REQUIRES: its constants are float32 if anything fits. Errors: reading external data.
absl::StatusOr<bool> Unscale(Model& model, const ScaledProduct& scaled);

}  // namespace amp

#endif  // AMP_IR_PATTERNS_SCALED_PRODUCT_H_
