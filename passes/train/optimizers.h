// The update of a weight by its gradient, as calls of ai.amp functions in float32.
//
//   sgd       w - rate * g
//   momentum  v' = momentum * v - rate * g;  w + v'           nesterov: w + momentum * v' - rate * g
//   rmsprop   v' = rho * v + (1 - rho) * g^2;  w - rate * g / sqrt(v' + epsilon)
//   adam      m' = m + (1 - beta1) * (g - m);  v' = v + (1 - beta2) * (g^2 - v)
//             w - rate * sqrt(1 - beta2^t) / (1 - beta1^t) * m' / (sqrt(v') + epsilon)   t: updates done, with this one
//   adamw     adam of w - rate * weight_decay * w
//
// The forms are those of Keras 3. A call does one weight; where steps can be skipped, the function is another one,
// ConditionalAdam for Adam, that takes the condition first and leaves everything as it was where it does not hold.
#ifndef AMP_PASSES_TRAIN_OPTIMIZERS_H_
#define AMP_PASSES_TRAIN_OPTIMIZERS_H_

#include <string>
#include <vector>

#include "passes/train/step_graph.h"
#include "passes/train/step_settings.h"

namespace amp {

absl::string_view OptimizerName(Optimizer optimizer);  // "rmsprop"

struct WeightGradient {
  ValueId weight = kNone;    // a state of the step
  ValueId gradient = kNone;  // float32, of its shape
};

struct OptimizerInputs {
  ValueId learning_rate = kNone;
  ValueId updates = kNone;  // how many were done; int64
  ValueId apply = kNone;    // bool: whether this one is; kNone: it is
};

// Adds the optimizer's slots to the states, and the next values of weights and slots.
void AddUpdates(StepGraph& step, const OptimizerSettings& settings, const OptimizerInputs& inputs,
                const std::vector<WeightGradient>& weights);

}  // namespace amp

#endif  // AMP_PASSES_TRAIN_OPTIMIZERS_H_
