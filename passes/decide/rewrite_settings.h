// The choices of a caller for a rewrite, as the stages of passes/sequence/rewrite_model.h take them.
#ifndef AMP_PASSES_DECIDE_REWRITE_SETTINGS_H_
#define AMP_PASSES_DECIDE_REWRITE_SETTINGS_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ir/base/choices.h"
#include "ir/base/limits.h"
#include "ir/base/observed_values.h"
#include "passes/cast/narrow_weights.h"
#include "passes/classify/classify_nodes.h"
#include "passes/decide/free_dimension.h"
#include "passes/paint/paint_graph.h"
#include "passes/report/stages.h"
#include "passes/train/step_settings.h"

namespace amp {

struct KeepIo {
  bool all = true;                 // every graph input and output keeps its type
  std::vector<std::string> names;  // with all == false: those that do
};

struct OpsetChoice {
  enum class Kind { kAuto, kKeep, kFixed };
  Kind kind = Kind::kAuto;
  int version = 0;  // kFixed
};

// The hardware that the model is for, as far as it is known.
struct TargetSupport {
  std::string name = "any";
  bool can_run_low = true;  // it has fast kernels for the low type
  // Without a target recurrent kernels and a float32 softmax inside fused attention are assumed, float32 statistics are
  // not.
  TargetPromises promises = {.float32_softmax = true, .bfloat16_recurrence = true};
};

struct RewriteSettings {
  DType low = DType::kFloat16;
  TargetSupport target;
  PaintOptions paint;  // `follow` and `placement` come from the lists
  Preserve preserve = Preserve::kTensor;
  Guards guards = Guards::kAll;
  KeepIo keep_io;
  WeightMode weights = WeightMode::kConvert;
  OpsetChoice opset;
  FunctionMode functions = FunctionMode::kInline;
  BatchNormMode batch_norms = BatchNormMode::kReplace;
  WeightScaling scale_weights = WeightScaling::kLowData;
  Limits limits;  // on what inlining may add, and on the model after it
  bool freeze_initializers = false;
  bool keep_decomposed = false;     // norms that are written out stay so
  bool last_softmax_stays = false;  // a Softmax that only moves of data separate from a graph output stays float32
  double max_weight_error = 0.01;   // of values that were observed too
  std::shared_ptr<const ObservedValues> observed;  // on a user's data; null: nothing was
  bool strict = false;                             // a rule by name that matches nothing is an error
  std::vector<FreedDimension> freed;               // become symbolic first
  std::optional<StepSettings> step;                // a training step is made of the model first; then that is painted
  std::optional<WrapSettings> wrap;                // a training graph gets a loss scale; then that is painted
  bool annotate = false;                           // nodes get metadata that say why they are what they are
  bool describe_graph = false;                     // fill Report::graph
  bool draw_values = false;                        // fill NarrowedWeight::exponents
  bool diff = false;                               // fill RewriteOutcome::diff
  std::function<absl::Status(Stage)> on_stage;     // at the end of each; an error ends the rewrite
  std::function<absl::Status()> may_go_on;         // asked between steps that take long; an error ends the rewrite
  std::optional<Stage> stop_after;
  std::vector<Stage> print_after;  // fill RewriteOutcome::stages

  absl::Status MayGoOn() const { return may_go_on ? may_go_on() : absl::OkStatus(); }

  // Whether the numbers of constants may become others where another form of a node needs that. Plain rules are
  // TensorFlow's, which edit types alone; constants that are cast at run time have to stay what they are; and functions
  // that are made of nodes again have no constants of their own.
  bool MayComputeConstants() const {
    return guards != Guards::kNone && weights == WeightMode::kConvert && functions != FunctionMode::kSpecialise;
  }
};

}  // namespace amp

#endif  // AMP_PASSES_DECIDE_REWRITE_SETTINGS_H_
