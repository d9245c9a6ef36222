// Adds a loss scale to a graph that has gradients already. The seed of the gradients is multiplied by the scale, the
// gradients are divided by it, and the optimizers' results are taken only if all gradients are finite.
//
//   loss_grad = 1  ─ backward ─ dw ─ SGD (w, .) ─ w_updated
//   scale          ─ backward ─ dw ─ unscale ─ SGD (w, .) ─ finite ? . : w ─ w_updated
//
// Gradients are found as operands of optimizers and accumulators (update_operators.h) or by name; where they begin is
//   a seed      an initializer NAME_grad with the value 1, as onnxruntime's training graphs have it
//   its lack    the gradient of a loss that takes none: what it gives is scaled
//   a Gradient  of ai.onnx.preview.training: the loss that it names is scaled
// In a model with training_info the step is the main graph and the algorithm's together, of which the algorithm's part
// changes. Missing parts are listed; nothing is guessed. The states are those of MakeStep, amp.loss_scale and
// amp.good_steps. Weights and slots that the graph updates are listed with them, and are inputs with defaults: their
// low copies are made in every step.
#ifndef AMP_PASSES_TRAIN_WRAP_STEP_H_
#define AMP_PASSES_TRAIN_WRAP_STEP_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "ir/base/limits.h"
#include "ir/graph/graph.h"
#include "passes/train/step_settings.h"

namespace amp {

struct WrappedStep {
  std::unique_ptr<Model> model;
  std::string line;  // "Scaled the loss of a training graph, 16 gradients"
};

// Takes the model, as MakeStep does. REQUIRES: types are inferred. Errors: kDataLoss for a graph that has
// no gradients, that lacks a part, or that is scaled already; kInvalidArgument for names that it does not have.
absl::StatusOr<WrappedStep> WrapStep(std::unique_ptr<Model> model, std::shared_ptr<const OpSignatures> signatures,
                                     const WrapSettings& settings, const Limits& limits);

}  // namespace amp

#endif  // AMP_PASSES_TRAIN_WRAP_STEP_H_
