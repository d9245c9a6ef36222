// A forward model in the form that Gradients asks for.
//
//   opset 11, calls of local.Block, Celu     ->     opset 13, the nodes of local.Block, what Celu's schema says it is
#ifndef AMP_PASSES_TRAIN_PREPARE_FOR_TRAINING_H_
#define AMP_PASSES_TRAIN_PREPARE_FOR_TRAINING_H_

#include <memory>

#include "absl/status/statusor.h"
#include "ir/base/limits.h"
#include "ir/graph/graph.h"

namespace amp {

// Inlines model-local functions (not those of domain ai.amp), lifts the model to kOpsetOfAllRules, at least to
// kOldestTrainableOpset, where it is older, and puts the bodies of schemas in the place of operators that have one and no rule of their own; every Dropout
// that trains gets its output of the mask. Ids of the old
// model mean nothing in the one that comes back, names stay; its types are inferred. `signatures`: those of Model::Create. Errors: those of inlining;
// kPermissionDenied where an operator cannot be lifted.
absl::StatusOr<std::unique_ptr<Model>> PrepareForTraining(
    std::unique_ptr<Model> model, const std::shared_ptr<const OpSignatures>& signatures = nullptr,
    const Limits& limits = {});

}  // namespace amp

#endif  // AMP_PASSES_TRAIN_PREPARE_FOR_TRAINING_H_
