// The choices of a caller for a step graph. Numbers have been checked to be in their ranges.
#ifndef AMP_PASSES_TRAIN_STEP_SETTINGS_H_
#define AMP_PASSES_TRAIN_STEP_SETTINGS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ir/base/choices.h"
#include "passes/train/step_metadata.h"

namespace amp {

struct OptimizerSettings {
  Optimizer kind = Optimizer::kRmsprop;
  bool nesterov = false;  // momentum
  double learning_rate = 0.001;
  double momentum = 0.9;                 // momentum
  double rho = 0.9;                      // rmsprop
  double beta1 = 0.9, beta2 = 0.999;     // adam, adamw
  double epsilon = 1e-7;                 // rmsprop, adam, adamw
  double weight_decay = 0.004;           // adamw
  std::optional<double> clip_norm = {};  // of all gradients together
  int64_t accumulate = 1;                // steps whose gradients are averaged for one update
};

struct LossScaleSettings {
  LossScaling kind = LossScaling::kNone;
  double initial = 32768;  // of kFixed: the scale
  int64_t interval = 2000;
  double growth = 2, backoff = 0.5, min = 1, max = 16777216;
  bool finite_check = true;          // skip steps with a gradient that is not finite, without a dynamic scale too
  bool count_skipped_steps = false;  // the global step counts them too
  // For kDynamic: a serialized FunctionProto (scale, good_steps, finite) -> (next scale, next good_steps) that replaces
  // the rule that the numbers above describe; "": that rule.
  std::string function;

  bool ChecksGradients() const { return kind == LossScaling::kDynamic || finite_check; }
};

// A new Dense layer on a tensor; the model behind that is dropped.
struct HeadSettings {
  std::string tensor;
  int64_t units = 0;
  uint64_t seed = 0;
};

struct StepSettings {
  LossKind loss = LossKind::kSoftmaxCrossEntropy;
  std::string loss_output;              // kGraph
  std::string logits;                   // "": the model's only output
  std::string labels = "labels";        // the new input
  std::optional<LabelKind> label_kind;  // nothing: as the loss says
  OptimizerSettings optimizer;
  LossScaleSettings scale;
  std::vector<std::string> trainable, freeze;  // globs over names of weights
  std::optional<HeadSettings> head;
  bool data_parallel = false;       // gradients are averaged over ranks (mean_over_ranks.h)
  DType compute = DType::kFloat32;  // that painting is for; what the step's description says
};

// A loss scale for a training graph of somebody else's.
struct WrapSettings {
  LossScaleSettings scale;
  std::string loss;                                            // "": the only seed of gradients
  std::vector<std::pair<std::string, std::string>> gradients;  // weight, gradient
};

}  // namespace amp

#endif  // AMP_PASSES_TRAIN_STEP_SETTINGS_H_
