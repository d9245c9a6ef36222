// The steps of a rewrite from the model as it came to the one that is decided on: what the decision needs is done to the
// model first, and where the decision asks for more (another opset, something else in the place of nodes), it is made
// again.
#ifndef AMP_PASSES_SEQUENCE_MAKE_DECISION_H_
#define AMP_PASSES_SEQUENCE_MAKE_DECISION_H_

#include "absl/status/status.h"
#include "passes/sequence/rewrite_state.h"

namespace amp {

// Lifts the model where the low type needs it. Errors: kInvalidArgument, an opset that cannot be had.
absl::Status RaiseOpset(RewriteState& state);

// Norms that are written out become operators, before the decision, which is then about these.
absl::Status ReplaceDecomposedNorms(RewriteState& state);

// state.decision. Lifts the opset, folds BatchNormalizations and scales weights where it asks for that. Errors: rules
// that name nothing under --strict, and those of reading external data.
absl::Status MakeDecision(RewriteState& state);

}  // namespace amp

#endif  // AMP_PASSES_SEQUENCE_MAKE_DECISION_H_
