// Softmax, its logarithm and log-sum-exp, written out.
//
//   e = Exp(x - ReduceMax(x))   e / ReduceSum(e)                     Softmax
//   d = x - ReduceMax(x)   d - Log(ReduceSum(Exp(d)))                LogSoftmax
//   m = ReduceMax(x)   Log(ReduceSum(Exp(x - m))) + m                LogSumExp
//
// Each without the maximum as well.
#ifndef AMP_IR_PATTERNS_SOFTMAX_PATTERN_H_
#define AMP_IR_PATTERNS_SOFTMAX_PATTERN_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "ir/patterns/pattern.h"
#include "ir/patterns/pattern_search.h"

namespace amp {

// The core of each of them, whoever else reads it: the division of exponentials by their sum, or the logarithm of it.
struct SumOfExponentials {
  ValueId x = kNone;         // before the maximum is subtracted
  ValueId exponent = kNone;  // after it
  ValueId maximum = kNone;   // kNone where none is subtracted
  std::vector<int64_t> axes;
};
// Its nodes join `search`. The reason is for one that is not found. `anchor` as below.
struct FoundSum {
  std::optional<SumOfExponentials> sum;
  Reason why = Reason::None();
};
FoundSum FindSumOfExponentials(NodeId anchor, PatternSearch& search);

// REQUIRES: types are inferred. `anchor`: the division by the sum, or the logarithm of it.
Recognised RecogniseSoftmax(const Model& model, NodeId anchor);

}  // namespace amp

#endif  // AMP_IR_PATTERNS_SOFTMAX_PATTERN_H_
