// Operators that say a whole shape, the number of samples among it: Reshape, Flatten, Expand (sample_axis.h).
//
//   Reshape ([1, 12, 64], s = {1, 768})     s becomes {0, 768}     axis 0
//   Reshape ([1, 12, 64], s = {12, 64})     s becomes {-1, 64}     axis 0, 12 elements for each sample
//   Reshape ([7, 1, 64], s = {7, 4, 16})    s becomes {7, -1, 16}  axis 1, 4 elements for each sample
//   Reshape ([7, 1, 64], s = {448})         cannot: samples would lie between each other
//
// The axes in front of the samples' axis have as many elements before and after. So a sample's elements, which lie
// together behind them, stay together.
#ifndef AMP_IR_OPERATORS_RESHAPED_SAMPLES_H_
#define AMP_IR_OPERATORS_RESHAPED_SAMPLES_H_

#include "ir/operators/sample_axis.h"

namespace amp {

// REQUIRES: the first input has samples, and no other one has.
FollowedNode FollowReshapedSamples(const Model& model, const Node& node, const Samples& samples);
FollowedNode FollowFlattenedSamples(const Model& model, const Node& node, const Samples& samples);
FollowedNode FollowExpandedSamples(const Model& model, const Node& node, const Samples& samples);

}  // namespace amp

#endif  // AMP_IR_OPERATORS_RESHAPED_SAMPLES_H_
