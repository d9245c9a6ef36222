// Puts something else in the place of a BatchNormalization that does not train. Its output keeps its name; constants
// that nobody reads any more go.
//
//   c = Conv (x, W)   y = BatchNormalization (c, ...)   =>  y = Conv (x, W', y_bias)
//   c = MatMul (x, W) y = BatchNormalization (c, ...)   =>  y_scaled = MatMul (x, W')  y = Add (y_scaled, y_addend)
//   y = BatchNormalization (c, ...)                     =>  y_scaled = Mul (c, y_factor)  y = Add (y_scaled, y_addend)
#ifndef AMP_IR_PATTERNS_REPLACE_BATCH_NORM_H_
#define AMP_IR_PATTERNS_REPLACE_BATCH_NORM_H_

#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ir/graph/graph.h"
#include "ir/patterns/linear_producer.h"

namespace amp {

// The edit that was made; its ids are for callers that remember facts about them.
struct NormReplacement {
  NodeId stand_in = kNone;         // gives what the BatchNormalization gave
  std::vector<ValueId> rewritten;  // constants that have other elements now
};

// The operators that this puts in, beside what is folded into.
absl::Span<const absl::string_view> OperatorsOfStandIns();

NormReplacement FoldInto(Model& model, const LinearProducer& producer, NodeId norm, const FoldedConstants& folded);

// The constants as they are multiplied with and added to the data of a BatchNormalization: [C, 1, 1] for [N, C, H, W].
struct ScaleAndShiftTensors {
  FloatTensor factor, addend;
};
ScaleAndShiftTensors ShapeLikeData(const Model& model, NodeId norm, const ScaleAndShift& formula);
NormReplacement WriteAsMulAndAdd(Model& model, NodeId norm, const ScaleAndShiftTensors& tensors);

}  // namespace amp

#endif  // AMP_IR_PATTERNS_REPLACE_BATCH_NORM_H_
