// Automatic mixed precision for ONNX models: the library's public header.
//
//   #include <amp.h>                        // find_package(amp-rewrite), target amp-rewrite::amp
//   absl::StatusOr<amp::RewriteResult> result = amp::Rewrite(model);        // float32 in, mixed float16 out
//   if (result.ok()) onnx::ModelProto mixed = std::move(result->model);
//   absl::StatusOr<std::unique_ptr<amp::Session>> session = amp::MakeSession(mixed);      // and runs it
//   absl::StatusOr<std::unique_ptr<amp::Trainer>> trainer = amp::Trainer::Create("step.onnx");  // trains: its header
//
// Options mirror the flags of amp-rewrite one to one; `amp-rewrite --help` explains them. No globals, no environment
// variables; distinct calls may run in parallel. A call takes up to 512 KiB of its thread's stack at the default
// limits, 4 MiB at the largest. What this header, runtime/session.h, runtime/kernel/tensor.h and tools/train/trainer.h
// declare is for callers, up to "internal" in them; everything else is internal.
//
// Errors of all functions, by absl code: kInvalidArgument (an option, a list), kDataLoss (malformed or unsupported
// model), kPermissionDenied (a safety rule), kResourceExhausted (a limit), kUnavailable (input or output), kFailedPrecondition
// (verify: the models differ), kInternal (a defect of this library); and whatever a callback of the caller's returns. Options are checked as the flags are: one
// that is out of range, contradicts another or does not apply is kInvalidArgument, none is ignored. The message is one
// line that names the place, what was expected and what was found; RewriteFile's begins with the file or the flag that
// is at fault. A payload may come along, for programs that add words of their own: "amp/unknown-operator" (the name in
// a list or a flag that no operator has).
//
// Memory that runs out is kResourceExhausted ("out of memory"), and the host lives on, with two limits: a table of
// Abseil's that could not grow frees what it never had when it is destroyed, and JSON values allocate when they are.
// Our programs end at the first allocation that fails instead, with exit code 5.
#ifndef AMP_TOOLS_AMP_H_
#define AMP_TOOLS_AMP_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ir/base/choices.h"
#include "ir/base/limits.h"
#include "onnx/onnx_pb.h"
#include "runtime/session.h"
#include "tools/train/trainer.h"

namespace amp {

struct RewriteSummary;

// Where a rewrite is.
struct Progress {
  // "load", a stage (see stop_after), "write"; before each run on data "calibrate", "verify", and "mend" while nodes are
  // sought whose denial makes the models agree.
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
  bool data_parallel = false;                  // gradients are averaged over the ranks of SessionOptions::reduction

  std::string loss_scale;  // "dynamic", "none", "1024"
  std::optional<double> loss_scale_initial, loss_scale_growth, loss_scale_backoff, loss_scale_min, loss_scale_max;
  std::optional<int64_t> loss_scale_interval;
  bool finite_check = false, count_skipped_steps = false;
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
  // Runs on data: archives of arrays named after the inputs (.npz), a sample each. What the float32 model's values reach
  // on `calibration` decides what stays float32 (guard "observed"). With it `ranges` names a file that they are written
  // to, without it one that they are read from instead.
  std::vector<std::string> calibration;
  std::string ranges;
  // Both models are run, every 16-bit rounding applied, and nothing is written where an output differs by more than the
  // tolerance: kFailedPrecondition. A file as above; "": inputs are made up by declared type and shape.
  std::optional<std::string> verify;
  std::map<std::string, int64_t> dims;  // symbolic dimensions of inputs that are made up
  // "x:0" -> "batch": a fixed dimension of an input that becomes symbolic. kPermissionDenied, with the node, where an
  // operator does not compute each sample along it by itself.
  std::map<std::string, std::string> free_dims;
  std::optional<double> tolerance;  // relative L2 error of an output; nothing: 0.02 for float16, 0.1 for bfloat16
  TrainOptions train;
  bool keep_opset = false;
  std::optional<int> opset;  // lift to exactly this
  bool strict = false;
  // Names of stages: load, infer, lift, classify, guard, paint, casts, weights, fold; "all" for print_after.
  std::string stop_after;
  std::vector<std::string> print_after;
  bool report = false, explain = false, diff = false;  // fill the summary's texts of these names
  bool explain_float32 = false;                        // of nodes the explanation has those alone that stay float32

  // Called at the end of each step, before each run on data, and while weights are written; on the caller's thread. An error ends the rewrite
  // with that error, and no file changes: absl::CancelledError() cancels. Must not throw.
  std::function<absl::Status(const Progress&)> on_progress;

  // Files only: Rewrite refuses what is set of these. No file that is read is ever written to.
  ExternalData external_data = ExternalData::kAuto;
  bool in_place = false;
  bool force = false;       // replace files of another kind than the one that is written there
  bool dry_run = false;     // decide and report, write nothing
  std::string report_file;  // the report as JSON: written together with the model, both or neither
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
  std::string stages;             // what the stages of print_after showed
  std::string unchanged_because;  // when !changed
  std::string policy_dtypes;      // two lines "Compute dtype: ...", "Variable dtype: ..."; empty without a policy
  std::string verification;       // of a rewrite that was verified: a line
  std::string compatibility;  // whether the low type is fast on the target or this machine; empty if neither is named
  std::vector<std::string> warnings, advice;  // those of the report
  std::vector<std::string> hints;             // of the advice, what is about the model rather than this rewrite
};

struct RewriteResult {
  onnx::ModelProto model;  // the input itself when nothing was converted
  RewriteSummary summary;
};

// Rewrites a model in memory. External data cannot be resolved here: kInvalidArgument. The second form needs less
// memory: the model that was given is let go as soon as the result is made.
absl::StatusOr<RewriteResult> Rewrite(const onnx::ModelProto& model, const RewriteOptions& options = {});
absl::StatusOr<RewriteResult> Rewrite(onnx::ModelProto&& model, const RewriteOptions& options = {});

// Rewrites a file, streaming external data. Input and any earlier output stay as they are on failure; model, data file
// and report change together. When nothing is converted, the input's bytes are the output. The output's data file,
// "<output>.<16 hex digits>.data", is its own: it goes when the output is replaced, unless another file of the folder
// names it, and a copy of the model has another. `output` is not looked at in a dry run.
absl::StatusOr<RewriteSummary> RewriteFile(const std::string& input, const std::string& output,
                                           const RewriteOptions& options = {});

// A session (runtime/session.h) for a model in memory; Session::Create makes one for a file. Errors: those of
// Session::Create; kInvalidArgument for external data, which cannot be resolved here.
absl::StatusOr<std::unique_ptr<Session>> MakeSession(const onnx::ModelProto& model, const SessionOptions& options = {});

// The effective operator table as a list file for the low type that the options choose.
absl::StatusOr<std::string> PrintLists(const RewriteOptions& options);

// The profiles' names; and a line for each with its name, what it is and its low types.
std::vector<std::string> ListProfiles();
std::string DescribeProfiles();

}  // namespace amp

#endif  // AMP_TOOLS_AMP_H_
