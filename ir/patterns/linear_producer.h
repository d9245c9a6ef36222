// The convolution or product ahead of a value, if its constants can take up a scale and a shift per channel of it.
//
//   c = Conv (x, W, b)    y = c * factor + addend    =>   y = Conv (x, W * factor, b * factor + addend)
//
// Channels are axis 1 of the value. W holds them in axis 0 (Conv), axis 1 of its group (ConvTranspose) or in the
// columns, or rows, of a matrix (MatMul, Gemm). MatMul has no bias: the addend is left to whoever comes behind it.
#ifndef AMP_IR_PATTERNS_LINEAR_PRODUCER_H_
#define AMP_IR_PATTERNS_LINEAR_PRODUCER_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "ir/graph/constant.h"
#include "ir/graph/graph.h"
#include "ir/patterns/batch_norm.h"

namespace amp {

struct LinearProducer {
  NodeId node = kNone;
  ValueId weights = kNone, bias = kNone;  // bias: kNone where there is none
  bool takes_addend = true;
  double bias_factor = 1;  // Gemm's beta, which folding makes 1
  int64_t num_channels = 0;
  // Element i of the weights is of channel i / per_group * (channels of a group) + i / stride % (channels of a group).
  int64_t per_group = 0, stride = 1, num_groups = 1;

  int64_t ChannelOf(int64_t element) const {
    const int64_t of_group = num_channels / num_groups;
    return element / per_group * of_group + element / stride % of_group;
  }
};

// Nothing unless the node's only reader is `reader`, in the same graph, and its weights and bias are float32 constants.
// REQUIRES: types are inferred.
std::optional<LinearProducer> FindLinearProducer(const Model& model, ValueId value, NodeId reader);

struct FoldedConstants {
  FloatTensor weights;
  FloatTensor bias;  // of one element per channel; for a MatMul, what is to be added behind it
};

// Computed in float64, rounded once. Errors: reading external data.
absl::StatusOr<FoldedConstants> Fold(const Model& model, const LinearProducer& producer, const ScaleAndShift& formula);

}  // namespace amp

#endif  // AMP_IR_PATTERNS_LINEAR_PRODUCER_H_
