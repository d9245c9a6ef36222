// The rewrite as one function: a float32 model goes in, a mixed-precision model comes out, and a report of why.
//
// infer -> classify -> guards -> paint -> [lift opset, again] -> plan casts -> casts -> weights -> fold -> check
#ifndef AMP_PASSES_REWRITE_MODEL_H_
#define AMP_PASSES_REWRITE_MODEL_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "passes/classify/classify_nodes.h"
#include "passes/classify/op_lists.h"
#include "passes/report/report.h"
#include "passes/stages.h"

namespace amp {

struct InlinedFunctions;

enum class Preserve { kTensor, kNode };
enum class Guards { kAll, kConstants, kNone };

struct KeepIo {
  bool all = true;                 // every graph input and output keeps its type
  std::vector<std::string> names;  // with all == false: those that do
};

struct OpsetChoice {
  enum class Kind { kAuto, kKeep, kFixed };
  Kind kind = Kind::kAuto;
  int version = 0;  // kFixed
};

// What is known about the hardware that the model is for.
struct TargetSupport {
  std::string name = "any";
  bool can_run_low = true;  // it has fast kernels for the low type
  // Without a target recurrent kernels and a float32 softmax inside fused attention are assumed, float32 statistics are
  // not.
  TargetPromises promises = {{"rnn", "bfloat16"}, {"softmax", "float32"}};
};

struct RewriteSettings {
  DType low = DType::kFloat16;
  TargetSupport target;
  PaintOptions paint;  // `follow` comes from the lists
  Preserve preserve = Preserve::kTensor;
  Guards guards = Guards::kAll;
  KeepIo keep_io;
  WeightMode weights = WeightMode::kConvert;
  OpsetChoice opset;
  InlinedFunctions* inlined = nullptr;  // before `model` was made, which takes its calls over
  bool came_edited = false;             // the model is no longer what its file says
  std::string removed_attributes;       // of `model`, as a sentence: a warning if it is rewritten
  int highest_opset_import = 0;         // of a file that imports several versions of ai.onnx
  bool freeze_initializers = false;
  bool last_softmax_stays = false;  // a Softmax that only moves of data separate from a graph output stays float32
  double max_weight_error = 0.01;
  bool strict = false;                          // a rule by name that matches nothing is an error
  bool diff = false;                            // fill RewriteOutcome::diff
  std::function<absl::Status(Stage)> on_stage;  // at the end of each; an error ends the rewrite
  std::optional<Stage> stop_after;
  std::vector<Stage> print_after;  // fill RewriteOutcome::stages
};

struct RewriteOutcome {
  Report report;           // `model` and `profile` are the caller's to fill
  PendingTensors pending;  // low copies of external weights, for SaveModel
  std::string diff;        // see diff_models.h
  std::string line;        // what was done, in one line
  std::string stages;      // what the stages to print showed of themselves
};

// Edits `model` iff report.changed; else the model may hold a lifted opset and is to be thrown away, the original bytes
// being the result. Errors: an unknown name in keep_io, an opset that cannot be reached, reading external data, and
// kInternal if the result fails its type check. `external` may be null without external data.
absl::StatusOr<RewriteOutcome> RewriteModel(Model& model, const OpLists& lists, const RewriteSettings& settings,
                                            ExternalData* external);

}  // namespace amp

#endif  // AMP_PASSES_REWRITE_MODEL_H_
