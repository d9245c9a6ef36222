// Options and results of Rewrite. Part of the public header, tools/library/amp.h.
#ifndef AMP_TOOLS_LIBRARY_REWRITE_OPTIONS_H_
#define AMP_TOOLS_LIBRARY_REWRITE_OPTIONS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ir/base/choices.h"
#include "ir/base/limits.h"
#include "onnx/onnx_pb.h"

namespace amp {

struct Report;
struct RewriteSummary;

// Where a rewrite is.
struct Progress {
  // "load", a stage (see stop_after), "write"; before each run on data "calibrate", "verify", and "mend" while nodes
  // are sought whose denial makes the models agree.
  std::string step;
  int64_t done = 0, total = 0;  // bytes of weights, while they are written; runs on data, or attempts; else 0
};

// --train and what goes with it: a forward model becomes the graph of one training step, which is then painted as a
// whole. What is not set is as `amp-rewrite --help` says; a flag that would have no effect is an error.
struct TrainOptions {
  using Optimizer = amp::Optimizer;

  bool train = false;
  std::string loss;    // "softmax-cross-entropy", "mse", "graph:NAME"; without `train` the name of the loss
  std::string logits;  // an output, or another value
  std::string labels;  // "NAME", "NAME:sparse", "NAME:onehot"
  std::optional<Optimizer> optimizer;
  bool nesterov = false;
  std::optional<double> learning_rate, momentum, rho, epsilon, beta1, beta2, weight_decay, clip_norm;
  std::optional<int64_t> accumulate;
  std::vector<std::string> trainable, freeze;  // globs over names of weights
  std::string head;                            // "TENSOR:dense=10"
  std::optional<int64_t> seed;                 // of the head
  bool data_parallel = false;                  // gradients are averaged over the ranks of SessionOptions::ranks

  std::string loss_scale;  // "dynamic", "none", "1024"
  std::optional<double> loss_scale_initial, loss_scale_growth, loss_scale_backoff, loss_scale_min, loss_scale_max;
  std::optional<int64_t> loss_scale_interval;
  std::optional<bool> finite_check;  // false: no step is skipped, and NaN goes into the weights; nothing: true
  bool count_skipped_steps = false;
  std::vector<std::string> gradients;  // "WEIGHT=GRADIENT", without `train`
  // A loss scale of the caller's own, for a dynamic one: a function
  //   (float scale, int64 good_steps, bool finite) -> (float next_scale, int64 next_good_steps)
  // of scalars, in any domain, that becomes a model-local function of the step and is called once per step. `finite`:
  // whether every gradient of the step is, after it was divided by the scale. A step that is not is skipped whatever
  // the function says. It may import any domain at the model's version, ai.onnx among them; good_steps is a counter
  // that the function may use as it likes. Both states start as the flags say.
  std::optional<onnx::FunctionProto> loss_scale_function;
};

struct RewriteOptions {
  enum class Dtype { kFloat16, kBfloat16, kAuto };
  enum class Verify { kAuto, kOff, kOn, kFix };
  // The error of an output that a search bounds. kRelativeL2: the L2 norm of the difference by that of the output.
  // kMaxAbs: the largest difference of an element. kCosine: 1 - the cosine between the two. kKl: the divergence of rows
  // along the last dimension, as probabilities. kTop1: the share of rows whose largest element is another one. kSqnr:
  // the ratio of signal to noise, of which max_error is the least, in decibels; reports have it as kRelativeL2.
  enum class Metric { kRelativeL2, kMaxAbs, kCosine, kSqnr, kKl, kTop1 };
  enum class Policy { kMixedFloat16, kMixedBfloat16, kFloat32, kFloat16, kBfloat16 };
  using Level = amp::Level;
  using Placement = PlacementMode;
  using Weights = WeightMode;
  using Preserve = amp::Preserve;
  using Guards = amp::Guards;
  using Functions = FunctionMode;
  using ScaleWeights = WeightScaling;
  using ExternalData = ExternalDataPolicy;
  using Limits = amp::Limits;

  std::optional<Policy> policy;  // sets dtype, weights and keep_io; an error where these say otherwise
  std::optional<Dtype> dtype;    // nothing: float16
  std::string target = "any";    // "auto" looks at this machine, as does Dtype::kAuto
  std::string profile = "default";
  std::vector<std::string> lists;                               // overlay files, later ones win
  std::vector<std::string> allow, infer, deny, clear;           // "Softmax,my.domain::Function"; "-Softmax" unlists
  std::vector<std::string> deny_node, allow_node, deny_tensor;  // globs over names and paths, of calls too
  std::vector<std::string> op_signatures;                       // "my.domain::Gate(T, float?) -> T"
  std::optional<bool> follow;                                   // nothing: as the profile says
  Level level = Level::kDefault;
  std::optional<Placement> placement;  // nothing: as the profile says
  Guards guards = Guards::kAll;
  Preserve preserve = Preserve::kTensor;
  std::optional<bool> keep_io;             // all graph inputs and outputs keep their type; nothing: they do
  std::vector<std::string> keep_io_names;  // with keep_io == false: the ones that do
  std::optional<Weights> weights;          // nothing: kConvert
  double max_weight_error = 0.01;
  bool freeze_initializers = false;
  bool keep_batch_norm = false;  // where they would run low: neither folded nor made a Mul and an Add
  bool keep_decomposed = false;  // norms that are written out stay so
  ScaleWeights scale_weights = ScaleWeights::kLowData;
  Functions functions = Functions::kInline;  // model-local ones
  // Archives of arrays named after the inputs (.npz), a sample each, to run the model on. The largest values of the
  // float32 model on `calibration` decide what stays float32 (guard "observed"). With it `ranges` names a file that
  // these are written to, without it a file that they are read from instead.
  std::vector<std::string> calibration;
  std::string ranges;
  // Both models are run, every 16-bit rounding applied. kAuto: on inputs that are made up by declared type and shape,
  // or the first of `calibration`, if that is cheap; where an output differs by more than the tolerance, that is a
  // warning, and with `strict` an error. The model never depends on it. kOn: on `verify_file`, an archive as above, or
  // else on inputs that are made up; nothing is written where an output differs: kFailedPrecondition. kFix: as kOn, on
  // the first of `calibration` where there is no file; the parts that mend what differs stay float32, found as `search`
  // finds them.
  Verify verify = Verify::kAuto;
  std::string verify_file;
  std::map<std::string, int64_t> dims;  // symbolic dimensions of inputs that are made up
  // "x:0" -> "batch": a fixed dimension of an input that becomes symbolic. kPermissionDenied, with the node, where an
  // operator does not compute each sample along it by itself.
  std::map<std::string, std::string> free_dims;
  // Which parts lose the most in the low type, on `calibration`: fills the summary's text and the report's part of that
  // name. `sensitivity_file` gets it as CSV. With `measure` the parts that are predicted to lose the most, so many of
  // them, are run alone in the low type, too.
  bool sensitivity = false;
  std::string sensitivity_file;  // files only
  int64_t measure = 0;
  // Looks for the parts that have to stay float32 for the outputs on `calibration` to be within `max_error`, in at most
  // `budget_runs` runs of candidates. Where nothing is within, nothing is written: kFailedPrecondition. Of four samples
  // and more the share `holdout` is kept for a last run. `search_list` gets a list file that names the nodes, `pareto`
  // all choices.
  bool search = false;
  Metric metric = Metric::kRelativeL2;
  std::optional<double> max_error;  // of the worst output, by `metric`; nothing: as tolerance, for relative L2 alone
  // A number of the caller's own instead, the larger the better: printed by a command of a shell, in which {model} is
  // the path of a model, or returned by a function. It may be `max_drop` smaller than the original model's, for which
  // one of the `budget_runs` goes; a command may take `metric_timeout` seconds each time. An error ends the rewrite
  // with that error. Must not throw.
  std::string metric_command;
  std::function<absl::StatusOr<double>(const std::string& model)> metric_function;
  std::optional<double> max_drop;
  int64_t metric_timeout = 3600;
  // Keeps the choices that were run, as JSON: a search that was ended goes on where it was. A log of another number of
  // the caller's own is known by that of the original alone.
  std::string search_log;
  double holdout = 0.25;
  std::optional<int64_t> budget_runs;  // nothing: 20, or 8 by a number of the caller's own
  std::string search_list, pareto;     // files only
  std::optional<double> tolerance;     // relative L2 error of an output; nothing: 0.02 for float16, 0.1 for bfloat16
  TrainOptions train;
  bool annotate = false;  // metadata_props of each node say its type and why; raises the IR version to 10
  bool keep_opset = false;
  std::optional<int> opset;  // lift to exactly this
  bool strict = false;
  // Names of stages: load, infer, lift, classify, guard, paint, casts, weights, fold; "all" for print_after.
  std::string stop_after;
  std::vector<std::string> print_after;
  bool report = false, explain = false, diff = false;  // fill the summary's texts of these names
  bool report_graph = false;                           // the summary's details can be written as HTML
  bool report_values = false;                          // that has histograms of weights and of observed values, too
  bool explain_float32 = false;                        // of nodes the explanation has those alone that stay float32

  // Called at the end of each step, before each run on data, and while weights are written; on the caller's thread. An
  // error ends the rewrite with that error, and no file changes: absl::CancelledError() cancels. Must not throw.
  std::function<absl::Status(const Progress&)> on_progress;
  // Asked between parts of each step, and before each node of a run on data; on the caller's thread. An error ends the
  // rewrite in the same way. Must not throw.
  std::function<absl::Status()> may_go_on;

  // Files only: Rewrite refuses what is set of these. No file that is read is ever written to.
  ExternalData external_data = ExternalData::kAuto;
  bool in_place = false;
  bool force = false;    // replace files of another kind than the one that is written there
  bool dry_run = false;  // decide and report, write nothing
  // The report as JSON, or where the name ends in .html as HTML: written together with the model, both or neither.
  std::string report_file;
  // An overlay for Model Explorer, as JSON: the type of each node and why, by output.
  std::string node_data_file;
  // Called when all is decided and written under temporary names, in a dry run too. An error is the call's error, and
  // no file changes.
  std::function<absl::Status(const RewriteSummary&)> before_replacing;

  // Upper bounds on what an input may cost: the --max-... flags. kInvalidArgument where one is negative or larger than
  // can be kept to (`amp-rewrite --help` says how much that is). The first three are about the bytes of a file; Rewrite
  // holds a model in memory to the others.
  Limits limits;
};

struct RewriteSummary {
  bool changed = false;
  std::string line;         // "Converted 41 of 57 nodes to float16 with 6 casts; weights 97.5 MB -> 48.8 MB"
  std::string report;       // JSON, a documented schema
  std::string explanation;  // the same as text
  std::string diff;
  std::string search;             // "search: 3 of 26 parts stay float32: ..."; empty if none was asked for
  std::string search_front;       // a line for each choice that no other one beats, as a plot in text
  std::string sensitivity;        // a table, the largest error first
  std::string stages;             // what the stages of print_after showed
  std::string unchanged_because;  // when !changed
  std::string policy_dtypes;      // two lines "Compute dtype: ...", "Variable dtype: ..."; empty without a policy
  std::string verification;       // "verified: ...", "not verified: why"; empty where nothing was to be verified
  std::string compatibility;  // whether the low type is fast on the target or this machine; empty if neither is named
  std::vector<std::string> warnings, advice;  // those of the report
  std::vector<std::string> hints;             // of the advice, what is about the model rather than this rewrite
  // ---- internal: report and explanation are made of this (passes/report/report.h)
  std::shared_ptr<const Report> details;
};

struct RewriteResult {
  onnx::ModelProto model;  // the input itself when nothing was converted
  RewriteSummary summary;
};

struct RewrittenBytes {
  std::string model;  // a serialized ModelProto: what RewriteFile writes
  RewriteSummary summary;
};

}  // namespace amp

#endif  // AMP_TOOLS_LIBRARY_REWRITE_OPTIONS_H_
