// The steps of a rewrite up to its decision. First the model is edited as the decision needs it. If the decision asks
// for more, such as another opset or replaced nodes, the edits are made and the decision is made again.
#ifndef AMP_PASSES_SEQUENCE_MAKE_DECISION_H_
#define AMP_PASSES_SEQUENCE_MAKE_DECISION_H_

#include "absl/status/status.h"
#include "passes/sequence/rewrite_state.h"

namespace amp {

// Lifts the model where the low type needs it. Errors: kInvalidArgument, an opset that cannot be had.
absl::Status RaiseOpset(RewriteState& state);

// Norms that are written out become operators, before the decision, which is then about these.
absl::Status ReplaceDecomposedNorms(RewriteState& state);

// Sets state.decision. Errors: rules that name nothing under --strict; those of reading external data.
absl::Status MakeDecision(RewriteState& state);

// Each of these edits the model where the decision asks for that, and decides again. Errors: those of reading external
// data.
absl::Status LiftForDecision(RewriteState& state);
// Until no BatchNormalization is left that would be low.
absl::Status ReplaceLowBatchNorms(RewriteState& state);
absl::Status ScaleUnfitWeights(RewriteState& state);

}  // namespace amp

#endif  // AMP_PASSES_SEQUENCE_MAKE_DECISION_H_
