// Replaces BatchNormalizations of inference that would become low. The type of their variance depends on the opset and
// the runtime; in 16 bits it may be lost, and in float32 it costs casts.
//
//   folded into the Conv, ConvTranspose, Gemm or MatMul ahead of it, if that is low and nobody else reads its result,
//     or would be low with the folded weights: its own do not fit into 16 bits
//   else a Mul and an Add
//   else float32: where the low type cannot hold the constants of either
//
// All constants are computed in float64. Those that stay high anyway are not touched.
#ifndef AMP_PASSES_DECIDE_REPLACE_BATCH_NORMS_H_
#define AMP_PASSES_DECIDE_REPLACE_BATCH_NORMS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "ir/graph/graph.h"
#include "passes/decide/decide_rewrite.h"
#include "passes/decide/survey_batch_norms.h"
#include "passes/report/report.h"

namespace amp {

// Replaces the replaceable norms that `decision` makes low, and those whose folding lets the operator ahead be low.
// Moves norms that cannot be replaced to `stay_float32`. If any of that happened, the decision has to be made again.
// Errors: reading external data.
absl::StatusOr<std::vector<ReplacedNode>> ReplaceBatchNorms(Model& model, const Decision& decision,
                                                            const DecisionInputs& inputs, BatchNorms& norms);

}  // namespace amp

#endif  // AMP_PASSES_DECIDE_REPLACE_BATCH_NORMS_H_
