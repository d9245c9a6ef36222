// Lets matrix work run low whose weights 16 bits cannot hold only because they are tiny, or huge, as a whole: they are
// multiplied by a power of two, which is taken off behind it.
//
//   y = MatMul (x, W)         W of 1e-7    =>   y_scaled = MatMul (x, W * 2^20)   y = Mul (y_scaled, 2^-20)
//   y = Gemm (x, W, b)        b of 0.1     =>   y = Gemm <alpha: 2^-20> (x, W * 2^20, b)
//
// The Mul stays float32, and so do the nodes that follow it by the rules: only the product ahead of it is sure to fit
// into 16 bits, as no result is larger than the largest datum. A Gemm takes the power off by its alpha if the result is
// sure to be of ordinary size and 16 bits hold that alpha, which some kernels narrow. Weights with other readers, and
// biases that do not fit once they are multiplied, keep the node float32 as before.
//
// By default only tiny weights are scaled, where the data are computed in 16 bits anyway or known to fit: where weights
// are tiny, data may be huge, and where they are huge, data may be tiny, which 16 bits hold no better.
#ifndef AMP_PASSES_DECIDE_SCALE_WEIGHTS_H_
#define AMP_PASSES_DECIDE_SCALE_WEIGHTS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "ir/graph/graph.h"
#include "ir/patterns/scaled_product.h"
#include "passes/decide/decide_rewrite.h"

namespace amp {

struct ScaledWeight {
  ScaledProduct product;
  std::string path;  // of the node that reads it, as in reports
  std::string how;
};

// Scales weights of the allowed nodes that `decision` leaves float32 for the sake of a constant. If any was scaled, the
// decision has to be made again, with the Muls held. Errors: reading external data.
absl::StatusOr<std::vector<ScaledWeight>> ScaleWeights(Model& model, const Decision& decision,
                                                       const DecisionInputs& inputs);

// The Muls of these, of this rewrite or of earlier ones: they stay float32 also where 16 bits hold the power of two.
std::vector<HeldNode> HoldMuls(const Model& model, const std::vector<ScaledProduct>& scaled);

}  // namespace amp

#endif  // AMP_PASSES_DECIDE_SCALE_WEIGHTS_H_
