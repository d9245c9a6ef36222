// The loss scale of a step: a number that the loss is multiplied by, so that gradients do not vanish in 16 bits, and
// that gradients are divided by again. A dynamic one finds itself; from one step to the next:
//
//   all gradients finite   good_steps + 1; at the interval: scale * growth, unless beyond the cap, and good_steps 0
//   else                   scale * backoff, at least the floor; good_steps 0; the step is skipped
//
// The decision uses this step's gradients, after they were divided; the new scale acts from the next step on. The rule
// is one call, ai.amp.UpdateLossScale (scale, good_steps, finite) -> (next scale, next good_steps), and a caller may
// bring a function of that form instead (LossScaleSettings::function).
#ifndef AMP_PASSES_TRAIN_LOSS_SCALE_H_
#define AMP_PASSES_TRAIN_LOSS_SCALE_H_

#include <vector>

#include "absl/status/statusor.h"
#include "passes/train/step_graph.h"
#include "passes/train/step_settings.h"

namespace amp {

struct LossScale {
  ValueId scale = kNone;       // float32; a state if it is dynamic, else a constant; kNone: there is none
  ValueId good_steps = kNone;  // a state of a dynamic one
};

// Adds the states. They come in AddLossScale's place in the order of states.
LossScale AddLossScale(StepGraph& step, const LossScaleSettings& settings);

// The gradients as they are without the scale.
void Unscale(StepGraph& step, const LossScale& scale, std::vector<ValueId>& gradients);

// Whether every element of every gradient is finite; bool. No gradient at all: true. No sum of elements is taken, which
// could overflow by itself, and NaN is seen.
ValueId AddFiniteCheck(StepGraph& step, const std::vector<ValueId>& gradients);

// The next values of a dynamic scale's states; no effect for others. Errors, kInvalidArgument: a caller's function that
// is none or has not three inputs and two outputs.
absl::Status UpdateLossScale(StepGraph& step, const LossScale& scale, const LossScaleSettings& settings,
                             ValueId finite);

}  // namespace amp

#endif  // AMP_PASSES_TRAIN_LOSS_SCALE_H_
