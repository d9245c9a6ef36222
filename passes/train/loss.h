// The loss of a forward model: its labels become a graph input, its last operators nodes of the graph.
//
//   probs = Softmax (logits)      ->   probs = Softmax (logits)                           an output as before
//                                      loss  = ai.amp.SoftmaxCrossEntropy (logits, labels)
//
// The losses are model-local functions of domain ai.amp with float32 inside, whatever goes in, and float32 results.
#ifndef AMP_PASSES_TRAIN_LOSS_H_
#define AMP_PASSES_TRAIN_LOSS_H_

#include <string>

#include "absl/status/statusor.h"
#include "ir/graph/graph.h"
#include "passes/train/step_metadata.h"

namespace amp {

struct LossOptions {
  LossKind kind = LossKind::kSoftmaxCrossEntropy;  // kGraph: a value of the model with one element
  std::string graph_loss;                          // of kGraph: the value's name
  std::string logits;  // the output that the labels are for, or a value of the main graph; "": the only output
  std::string labels = "labels";
  LabelKind label_kind = LabelKind::kSparse;  // of softmax cross-entropy
};

struct Loss {
  ValueId loss = kNone;    // float32, one element: the mean over the batch
  ValueId labels = kNone;  // int64 without the axis of classes; one-hot or mse: float32 of the prediction's shape
  ValueId logits = kNone;  // what the loss reads: of a model that ends in a softmax, what goes into that
};

// Adds the softmax cross-entropy: -log(softmax(logits)[label]), mean over all labels. A Softmax or LogSoftmax at the
// model's end is not read, nor are Identity, Cast and Reshape behind it: the loss reads the Softmax's input, without
// the rounding of the detour. Labels outside [0, C) make the loss and every gradient NaN. Logits of -inf (masked
// classes) do no harm as long as they are not the label's own. An empty batch has loss 0 and gradients 0. Errors:
// kInvalidArgument for names that are not there, kDataLoss for a model that the loss does not fit.
absl::StatusOr<Loss> AddLoss(Model& model, const LossOptions& options);

}  // namespace amp

#endif  // AMP_PASSES_TRAIN_LOSS_H_
