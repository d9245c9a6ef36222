// Softmax, its logarithm and log-sum-exp, written out.
//
//   e = Exp(x - ReduceMax(x))   e / ReduceSum(e)                     Softmax
//   d = x - ReduceMax(x)   d - Log(ReduceSum(Exp(d)))                LogSoftmax
//   m = ReduceMax(x)   Log(ReduceSum(Exp(x - m))) + m                LogSumExp
//
// Each without the maximum as well.
#ifndef AMP_IR_PATTERNS_SOFTMAX_PATTERN_H_
#define AMP_IR_PATTERNS_SOFTMAX_PATTERN_H_

#include "ir/patterns/pattern.h"

namespace amp {

// REQUIRES: types are inferred. `anchor`: the division by the sum, or the logarithm of it.
Recognised RecogniseSoftmax(const Model& model, NodeId anchor);

}  // namespace amp

#endif  // AMP_IR_PATTERNS_SOFTMAX_PATTERN_H_
