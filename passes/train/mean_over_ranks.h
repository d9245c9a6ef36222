// Makes one step out of the steps of several ranks, each with its share of a batch:
//
//   dw ─ StartMeanOverRanks ─ ... the backward pass goes on ... ─ MeanOverRanks ─ unscale ─ finite? ─ TrueOnAllRanks
//
// The means are functions of domain ai.amp whose bodies return their input, so that the graph is right for one rank in
// any runtime. An executor that knows the ranks computes float32 means over all of them instead. A mean starts right
// behind the node that makes its value, so that it is under way while the rest is computed.
#ifndef AMP_PASSES_TRAIN_MEAN_OVER_RANKS_H_
#define AMP_PASSES_TRAIN_MEAN_OVER_RANKS_H_

#include <vector>

#include "passes/train/step_graph.h"

namespace amp {

// The name of the function that averages.
inline constexpr absl::string_view kMeanOverRanks = "MeanOverRanks";

// Each of the values becomes its mean. REQUIRES: they are float32.
void AverageOverRanks(StepGraph& step, std::vector<ValueId>& values);
// Whether `own`, a bool, holds for every rank.
ValueId TrueOnAllRanks(StepGraph& step, ValueId own);

}  // namespace amp

#endif  // AMP_PASSES_TRAIN_MEAN_OVER_RANKS_H_
