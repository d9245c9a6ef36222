// The stages of a rewrite that edit the model as was decided. They decide nothing.
#ifndef AMP_PASSES_SEQUENCE_APPLY_DECISION_H_
#define AMP_PASSES_SEQUENCE_APPLY_DECISION_H_

#include "absl/status/status.h"
#include "passes/sequence/rewrite_state.h"

namespace amp {

// Casts, while weights are float32 still: no valid model yet.
absl::Status InsertPlannedCasts(RewriteState& state);
// Weights, and the attributes that hold an element type.
absl::Status NarrowPlannedWeights(RewriteState& state);
absl::Status FoldSuperfluousCasts(RewriteState& state);
// Writes down what was done: in the model, for taking it back, and in the report.
absl::Status RecordEdits(RewriteState& state);
// kInternal unless the types of the model are valid.
absl::Status CheckResult(RewriteState& state);
// --functions specialise: calls are calls again.
absl::Status RestoreFunctions(RewriteState& state);

}  // namespace amp

#endif  // AMP_PASSES_SEQUENCE_APPLY_DECISION_H_
