// How much work a run of a model on made-up inputs is, roughly, without running it.
#ifndef AMP_TOOLS_LIBRARY_VERIFY_COST_H_
#define AMP_TOOLS_LIBRARY_VERIFY_COST_H_

#include "ir/graph/graph.h"

namespace amp {

struct RunCost {
  double flops = 0;         // a multiplication and an addition are two
  double bytes = 0;         // of all values that nodes give, in float32
  double weight_bytes = 0;  // of constants, as the model stores them
  double nodes = 0;

  // Estimates the time to load, plan and run the model once on so many processors, with every value rounded where it is
  // produced.
  double Seconds(int processors) const;
};

// Adds up the nodes of all graphs, those of a body once. Dimensions that are unknown are taken for what made-up inputs
// have: 1 for the first axis of a value, 16 for the others. Values of unknown rank count nothing.
RunCost EstimateRun(const Model& model);

}  // namespace amp

#endif  // AMP_TOOLS_LIBRARY_VERIFY_COST_H_
