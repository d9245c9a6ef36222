// The losses of training and their gradients, as functions of domain ai.amp. Operands of any float type, float32 inside
// and as result. Classes are along the last axis.
//
//   SparseSoftmaxCrossEntropy (logits [..., C], labels [...]) => (loss)           and (logits, labels, g) => (d logits)
//   SoftmaxCrossEntropy (logits [..., C], targets [..., C]) => (loss)
//   MeanSquaredError (prediction, targets) => (loss)
//
// Means are over as many elements as there are, at least one: of nothing they are 0. A sparse label that is no class
// finds no one-hot position: the 0 / 0 that follows makes its loss and its row of the gradient NaN.
#ifndef AMP_PASSES_TRAIN_GRADIENT_LOSS_FUNCTIONS_H_
#define AMP_PASSES_TRAIN_GRADIENT_LOSS_FUNCTIONS_H_

#include "passes/train/gradient/term.h"

namespace amp {

extern const AmpFunction kSparseSoftmaxCrossEntropy, kSparseSoftmaxCrossEntropyGradient;
extern const AmpFunction kSoftmaxCrossEntropy, kSoftmaxCrossEntropyGradient;
extern const AmpFunction kMeanSquaredError, kMeanSquaredErrorGradient;

}  // namespace amp

#endif  // AMP_PASSES_TRAIN_GRADIENT_LOSS_FUNCTIONS_H_
