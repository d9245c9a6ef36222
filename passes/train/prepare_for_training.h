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

// Inlines model-local functions (not those of domain ai.amp), lifts an older model to kOpsetOfAllRules, at least to
// kOldestTrainableOpset, and replaces operators without a rule by the bodies of their schemas, if they have one. Every
// Dropout that trains gets its output of the mask. Returns a new model, in which the old one's ids mean nothing and
// names stay; its types are inferred. `signatures`: those of Model::Create. Errors: those of inlining;
// kPermissionDenied if an operator cannot be lifted.
absl::StatusOr<std::unique_ptr<Model>> PrepareForTraining(
    std::unique_ptr<Model> model, const std::shared_ptr<const OpSignatures>& signatures = nullptr,
    const Limits& limits = {});

}  // namespace amp

#endif  // AMP_PASSES_TRAIN_PREPARE_FOR_TRAINING_H_
