// The verifier between stages: whether a model in memory still agrees with its message after an edit.
//
// Decides whether Model::CheckConsistency checks: always in debug builds, elsewhere in programs that ask for it. All
// programs of the tests do (tests/verify_models.cc). A release build leaves it out: it costs as much as a stage.
#ifndef AMP_IR_GRAPH_VERIFY_H_
#define AMP_IR_GRAPH_VERIFY_H_

#include "ir/graph/graph.h"

namespace amp {

// From now on, for the whole program: not for a library's users, whose calls share no state.
void VerifyModels();

// Breaks loudly (CHECK) when the model is inconsistent and models are verified. Linear if they are.
void Verify(const Model& model);

}  // namespace amp

#endif  // AMP_IR_GRAPH_VERIFY_H_
