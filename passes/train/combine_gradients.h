// Edits gradients between the finite check and the optimizer: takes the mean over several steps, and bounds their norm.
#ifndef AMP_PASSES_TRAIN_COMBINE_GRADIENTS_H_
#define AMP_PASSES_TRAIN_COMBINE_GRADIENTS_H_

#include <cstdint>
#include <vector>

#include "passes/train/step_graph.h"

namespace amp {

// Adds up a mean over `steps` steps in states "<weight>.accumulated", counted by "amp.accumulated_steps". The gradients
// become the mean so far. Returns whether that is the whole one: then an update is due, and the states start anew.
// A step that is not `finite` (kNone: all are) leaves the states as they were.
ValueId AccumulateGradients(StepGraph& step, const std::vector<ValueId>& weights, int64_t steps, ValueId finite,
                            std::vector<ValueId>& gradients);

// Where the L2 norm of all gradients together is larger than `norm`, scales them to it. Squares are taken relative to
// the largest element, so that they do not overflow.
void ClipGradients(StepGraph& step, double norm, std::vector<ValueId>& gradients);

}  // namespace amp

#endif  // AMP_PASSES_TRAIN_COMBINE_GRADIENTS_H_
