// How good predictions are: the right ones are counted, and the loss is computed where a step graph does not.
#ifndef AMP_TOOLS_DATA_JUDGE_BATCH_H_
#define AMP_TOOLS_DATA_JUDGE_BATCH_H_

#include <cstdint>
#include <optional>

#include "runtime/kernel/tensor.h"

namespace amp {

// Counts the rows of scores [n, classes] whose largest score, the first of equal ones, is at the label's class. Labels
// are int64 [n] or [n, classes], where a row's largest counts. Returns nothing for other shapes or types.
std::optional<int64_t> CountRight(const Tensor& scores, const Tensor& labels);

// The mean of log(sum(exp(scores))) - scores[label], of rows and labels as above.
std::optional<double> SoftmaxCrossEntropy(const Tensor& logits, const Tensor& labels);
// Counts the probabilities, of class 1 of two, that lie on their label's side of 1/2; NaN lies on none. Labels are 0 or
// 1, in a tensor of the same shape. Returns nothing for others.
std::optional<int64_t> CountRightOfTwo(const Tensor& probabilities, const Tensor& labels);
// The mean of -log of the label's probability, which is taken for 1e-7 where it is less, as Keras does.
std::optional<double> BinaryCrossEntropy(const Tensor& probabilities, const Tensor& labels);
// Whether all labels are 0 or 1.
bool AreOfTwoClasses(const Tensor& labels);
// The mean of (prediction - target)^2 of two tensors of one shape.
std::optional<double> MeanSquaredError(const Tensor& prediction, const Tensor& target);
// The mean of |prediction - target|, likewise.
std::optional<double> MeanAbsoluteError(const Tensor& prediction, const Tensor& target);
// Whether the labels are rows of classes, [n, classes], one element of each 1 and all others 0.
bool AreOneHot(const Tensor& labels);

}  // namespace amp

#endif  // AMP_TOOLS_DATA_JUDGE_BATCH_H_
