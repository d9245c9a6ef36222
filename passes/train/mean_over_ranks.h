// What makes one step of the steps that several ranks do, each with its share of a batch:
//
//   dw ─ StartMeanOverRanks ─ ... the backward pass goes on ... ─ MeanOverRanks ─ unscale ─ finite? ─ TrueOnAllRanks
//
// Functions of domain ai.amp whose bodies give what they are given: the graph is right as it is for one rank, in any
// runtime. An executor that knows the ranks takes float32 means and asks all of them instead. A mean starts right behind
// the node that makes its value, so that it is under way while the rest is computed.
#ifndef AMP_PASSES_TRAIN_MEAN_OVER_RANKS_H_
#define AMP_PASSES_TRAIN_MEAN_OVER_RANKS_H_

#include <vector>

#include "passes/train/step_graph.h"

namespace amp {

// What averages.
inline constexpr absl::string_view kMeanOverRanks = "MeanOverRanks";

// Each of the values becomes its mean. REQUIRES: they are float32.
void AverageOverRanks(StepGraph& step, std::vector<ValueId>& values);
// Whether `own`, a bool, holds for every rank.
ValueId TrueOnAllRanks(StepGraph& step, ValueId own);

}  // namespace amp

#endif  // AMP_PASSES_TRAIN_MEAN_OVER_RANKS_H_
