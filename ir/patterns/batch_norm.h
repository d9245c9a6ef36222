// A BatchNormalization that does not train, as what it computes in every channel:
//
//   y = BatchNormalization <epsilon> (x, scale, shift, mean, variance)
//   y = x * factor + addend     factor = scale / sqrt(variance + epsilon), addend = shift - mean * factor
//
// Given as many outputs as its training form has, it trains up to opset 13, whoever reads them or not; from 14 on an
// attribute says so.
#ifndef AMP_IR_PATTERNS_BATCH_NORM_H_
#define AMP_IR_PATTERNS_BATCH_NORM_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "ir/base/reason.h"
#include "ir/graph/graph.h"

namespace amp {

// Whether the node is a BatchNormalization of float32 data that takes its statistics as they are. None is in a model
// that has graphs for training.
bool IsInferenceNorm(const Model& model, NodeId node);

// Why the formula cannot be written as a Mul and an Add of constants where the node stands; told without a look at the
// constants' elements. REQUIRES: IsInferenceNorm, types are inferred.
Reason ObstacleToScaleAndShift(const Model& model, NodeId node);
// Scale, shift or a statistic is stored in the model, and callers may give another.
bool HasOverridableStatistics(const Model& model, NodeId node);

struct ScaleAndShift {
  std::vector<double> factor, addend;  // one per channel
};

// Nothing where an element is not finite or cannot be read. REQUIRES: no ObstacleToScaleAndShift.
std::optional<ScaleAndShift> ReadScaleAndShift(const Model& model, NodeId node);

// The schema of the operators that would take the node's place, at the model's opset: both take and give one type.
const OpSchema& SchemaOfScaleAndShift(const Model& model);

}  // namespace amp

#endif  // AMP_IR_PATTERNS_BATCH_NORM_H_
