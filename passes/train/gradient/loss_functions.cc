#include "passes/train/gradient/loss_functions.h"

namespace amp {

const AmpFunction kSparseSoftmaxCrossEntropy = {"SparseSoftmaxCrossEntropy", R"(
<domain: "ai.amp", opset_import: ["" : 13]>
SparseSoftmaxCrossEntropy (logits, labels) => (loss) {
  z = Cast <to = 1> (logits)
  log_p = LogSoftmax <axis = -1> (z)
  whole = Cast <to = 7> (labels)
  last = Constant <value_ints = [-1]> ()
  rows = Unsqueeze (whole, last)
  first_class = Constant <value_int = 0> ()
  step = Constant <value_int = 1> ()
  last_axis = Constant <value_int = -1> ()
  shape = Shape (z)
  num_classes = Gather (shape, last_axis)
  classes = Range (first_class, num_classes, step)
  is_label = Equal (rows, classes)
  zero = Constant <value_float = 0.0> ()
  picked = Where (is_label, log_p, zero)
  sum = ReduceSum <keepdims = 0> (picked, last)
  ones = Cast <to = 1> (is_label)
  found = ReduceSum <keepdims = 0> (ones, last)
  log_likelihood = Div (sum, found)
  total = ReduceSum <keepdims = 0> (log_likelihood)
  size = Size (labels)
  at_least_one = Max (size, step)
  count = Cast <to = 1> (at_least_one)
  mean = Div (total, count)
  loss = Neg (mean)
})"};

const AmpFunction kSparseSoftmaxCrossEntropyGradient = {"SparseSoftmaxCrossEntropyGradient", R"(
<domain: "ai.amp", opset_import: ["" : 13]>
SparseSoftmaxCrossEntropyGradient (logits, labels, g) => (d_logits) {
  z = Cast <to = 1> (logits)
  p = Softmax <axis = -1> (z)
  whole = Cast <to = 7> (labels)
  last = Constant <value_ints = [-1]> ()
  rows = Unsqueeze (whole, last)
  first_class = Constant <value_int = 0> ()
  step = Constant <value_int = 1> ()
  last_axis = Constant <value_int = -1> ()
  shape = Shape (z)
  num_classes = Gather (shape, last_axis)
  classes = Range (first_class, num_classes, step)
  is_label = Equal (rows, classes)
  ones = Cast <to = 1> (is_label)
  found = ReduceSum <keepdims = 1> (ones, last)
  target = Div (ones, found)
  difference = Sub (p, target)
  size = Size (labels)
  at_least_one = Max (size, step)
  count = Cast <to = 1> (at_least_one)
  g_float = Cast <to = 1> (g)
  share = Div (g_float, count)
  d_logits = Mul (difference, share)
})"};

const AmpFunction kSoftmaxCrossEntropy = {"SoftmaxCrossEntropy", R"(
<domain: "ai.amp", opset_import: ["" : 13]>
SoftmaxCrossEntropy (logits, targets) => (loss) {
  z = Cast <to = 1> (logits)
  log_p = LogSoftmax <axis = -1> (z)
  t = Cast <to = 1> (targets)
  zero = Constant <value_float = 0.0> ()
  is_zero = Equal (t, zero)
  product = Mul (t, log_p)
  picked = Where (is_zero, zero, product)
  last = Constant <value_ints = [-1]> ()
  log_likelihood = ReduceSum <keepdims = 0> (picked, last)
  total = ReduceSum <keepdims = 0> (log_likelihood)
  size = Size (log_likelihood)
  one = Constant <value_int = 1> ()
  at_least_one = Max (size, one)
  count = Cast <to = 1> (at_least_one)
  mean = Div (total, count)
  loss = Neg (mean)
})"};

const AmpFunction kSoftmaxCrossEntropyGradient = {"SoftmaxCrossEntropyGradient", R"(
<domain: "ai.amp", opset_import: ["" : 13]>
SoftmaxCrossEntropyGradient (logits, targets, g) => (d_logits) {
  z = Cast <to = 1> (logits)
  p = Softmax <axis = -1> (z)
  t = Cast <to = 1> (targets)
  last = Constant <value_ints = [-1]> ()
  weight = ReduceSum <keepdims = 1> (t, last)
  weighted = Mul (p, weight)
  difference = Sub (weighted, t)
  size = Size (weight)
  one = Constant <value_int = 1> ()
  at_least_one = Max (size, one)
  count = Cast <to = 1> (at_least_one)
  g_float = Cast <to = 1> (g)
  share = Div (g_float, count)
  d_logits = Mul (difference, share)
})"};

const AmpFunction kMeanSquaredError = {"MeanSquaredError", R"(
<domain: "ai.amp", opset_import: ["" : 13]>
MeanSquaredError (prediction, targets) => (loss) {
  p = Cast <to = 1> (prediction)
  t = Cast <to = 1> (targets)
  difference = Sub (p, t)
  square = Mul (difference, difference)
  total = ReduceSum <keepdims = 0> (square)
  size = Size (square)
  one = Constant <value_int = 1> ()
  at_least_one = Max (size, one)
  count = Cast <to = 1> (at_least_one)
  loss = Div (total, count)
})"};

const AmpFunction kMeanSquaredErrorGradient = {"MeanSquaredErrorGradient", R"(
<domain: "ai.amp", opset_import: ["" : 13]>
MeanSquaredErrorGradient (prediction, targets, g) => (d_prediction) {
  p = Cast <to = 1> (prediction)
  t = Cast <to = 1> (targets)
  difference = Sub (p, t)
  size = Size (difference)
  one = Constant <value_int = 1> ()
  at_least_one = Max (size, one)
  count = Cast <to = 1> (at_least_one)
  two = Constant <value_float = 2.0> ()
  g_float = Cast <to = 1> (g)
  twice = Mul (two, g_float)
  share = Div (twice, count)
  d_prediction = Mul (difference, share)
})"};

}  // namespace amp
