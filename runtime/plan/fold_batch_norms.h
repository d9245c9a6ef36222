// Folds batch norms with constant statistics into the convolution or product ahead of them.
//
//   c = Conv (x, W)   y = BatchNormalization (c, ...)    =>   y = Conv (x, W', y_bias)
//
// The weights are computed in float64 and rounded once. Norms that cannot be folded stay.
#ifndef AMP_RUNTIME_PLAN_FOLD_BATCH_NORMS_H_
#define AMP_RUNTIME_PLAN_FOLD_BATCH_NORMS_H_

#include "absl/status/status.h"
#include "ir/graph/graph.h"

namespace amp {

// REQUIRES: types are inferred. Errors: reading constants.
absl::Status FoldBatchNorms(Model& model);

}  // namespace amp

#endif  // AMP_RUNTIME_PLAN_FOLD_BATCH_NORMS_H_
