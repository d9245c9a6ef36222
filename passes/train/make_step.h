// A step of training as one graph, from a forward model:
//
//   x ─ forward ─ logits ─ loss ─ gradients ─ unscale ─ finite? ─ accumulate ─ clip ─ optimizer ─ w.next
//
// Everything is float32 here; painting comes afterwards and sees forward and backward together. What has to stay
// float32 behind the gradients is calls of ai.amp functions, which painting does not touch. Weights, slots, running
// statistics, the scale and counters are graph inputs with defaults, and outputs NAME.next (step_metadata.h). A step
// that is skipped gives each of them back as it came, bit by bit.
#ifndef AMP_PASSES_TRAIN_MAKE_STEP_H_
#define AMP_PASSES_TRAIN_MAKE_STEP_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "ir/base/limits.h"
#include "ir/graph/graph.h"
#include "passes/train/step_settings.h"

namespace amp {

struct MadeStep {
  std::unique_ptr<Model> model;
  std::string line;  // "Made a training step of 4 weights: softmax-cross-entropy, rmsprop, dynamic loss scale"
};

// Takes the model, and lifts it to an opset whose operators take the low type: later on, functions of the step stand in
// the way. `signatures`: those of Model::Create. Errors: kInvalidArgument (names and globs), kDataLoss (a step graph
// already, weights that are not float32, what the loss and the gradients say), kResourceExhausted.
absl::StatusOr<MadeStep> MakeStep(std::unique_ptr<Model> model, std::shared_ptr<const OpSignatures> signatures,
                                  const StepSettings& settings, const Limits& limits);

// Whether a model that says that it is a step graph has float32 states: kDataLoss for one with a low weight, slot or
// scale, whose updates would be rounded away. No effect for other models. REQUIRES: types are inferred.
absl::Status CheckMasters(const Model& model);

}  // namespace amp

#endif  // AMP_PASSES_TRAIN_MAKE_STEP_H_
