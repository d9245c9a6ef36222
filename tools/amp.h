// Automatic mixed precision for ONNX models: the library's public header.
//
//   #include <amp.h>                        // find_package(amp-rewrite), target amp-rewrite::amp
//   absl::StatusOr<amp::RewriteResult> result = amp::Rewrite(model);        // float32 in, mixed float16 out
//   if (result.ok()) onnx::ModelProto mixed = std::move(result->model);
//
// Options mirror the flags of amp-rewrite one to one; `amp-rewrite --help` explains them. No globals, no environment
// variables; distinct calls may run in parallel. A call takes up to 512 KiB of its thread's stack at the default
// limits, 4 MiB at the largest. Everything but this header is internal.
//
// Errors of both functions, by absl code: kInvalidArgument (an option, a list), kDataLoss (malformed or unsupported
// model), kPermissionDenied (a safety rule), kResourceExhausted (a limit), kUnavailable (input or output). The message
// is one line that names the place, what was expected and what was found; RewriteFile's begins with the file or the
// option that is at fault.
#ifndef AMP_TOOLS_AMP_H_
#define AMP_TOOLS_AMP_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "onnx/onnx_pb.h"

namespace amp {

struct RewriteSummary;

struct RewriteOptions {
  enum class Dtype { kFloat16, kBfloat16, kAuto };
  enum class Policy { kMixedFloat16, kMixedBfloat16, kFloat32, kFloat16, kBfloat16 };
  enum class Level { kDefault, kTreatInferAsDeny, kTensorCoresOnly, kUnsafeForceAll };
  enum class Weights { kConvert, kCast };
  enum class Preserve { kTensor, kNode };
  enum class Guards { kAll, kConstants, kNone };
  enum class Functions { kInline, kInlineAll, kKeep, kSpecialise };
  enum class ExternalData { kAuto, kAlways, kNever };

  std::optional<Policy> policy;  // sets dtype, weights and keep_io; an error where these say otherwise
  std::optional<Dtype> dtype;    // nothing: float16
  std::string target = "any";    // "auto" looks at this machine, as does Dtype::kAuto
  std::string profile = "seed";
  std::vector<std::string> lists;                               // overlay files, later ones win
  std::vector<std::string> allow, infer, deny, clear;           // "Softmax,my.domain::Function"; "-Softmax" unlists
  std::vector<std::string> deny_node, allow_node, deny_tensor;  // globs over names and paths, of calls too
  std::vector<std::string> op_signatures;                       // "my.domain::Gate(T, float?) -> T", ir/op_signatures.h
  std::optional<bool> follow;                                   // nothing: as the profile says
  Level level = Level::kDefault;
  Guards guards = Guards::kAll;
  Preserve preserve = Preserve::kTensor;
  std::optional<bool> keep_io;             // all graph inputs and outputs keep their type; nothing: they do
  std::vector<std::string> keep_io_names;  // with keep_io == false: the ones that do
  std::optional<Weights> weights;          // nothing: kConvert
  double max_weight_error = 0.01;
  bool freeze_initializers = false;
  Functions functions = Functions::kInline;  // model-local ones
  bool keep_opset = false;
  std::optional<int> opset;  // lift to exactly this
  bool strict = false;
  // Names of stages: load, infer, lift, classify, guard, paint, casts, weights, fold; "all" for print_after.
  std::string stop_after;
  std::vector<std::string> print_after;
  bool report = false, explain = false, diff = false;  // fill the summary's texts of these names

  // Files only.
  ExternalData external_data = ExternalData::kAuto;
  bool in_place = false;
  bool dry_run = false;     // decide and report, write nothing
  std::string report_file;  // the report as JSON: written together with the model, both or neither
  // Called when all is decided and written under temporary names, in a dry run too. An error is the call's error, and
  // no file changes.
  std::function<absl::Status(const RewriteSummary&)> before_replacing;

  // Upper bounds on what an input may cost: the --max-... flags. kInvalidArgument where one is negative or larger than
  // can be kept to (`amp-rewrite --help` says how much that is).
  struct Limits {
    int64_t model_bytes = (int64_t{1} << 31) - 1;
    int nesting = 100, graph_depth = 32, call_depth = 100, rank = 64;
    int64_t objects = 2'000'000, nodes = 1'000'000, initializers = 1'000'000, functions = 10'000;
    int64_t inlined_nodes = 1'000'000, inlined_bytes = int64_t{1} << 30;
    int64_t elements = int64_t{1} << 40;
  } limits;
};

struct RewriteSummary {
  bool changed = false;
  std::string line;         // "Converted 41 of 57 nodes to float16 with 6 casts; weights 97.5 MB -> 48.8 MB"
  std::string report;       // JSON, documented in the README
  std::string explanation;  // the same as text
  std::string diff;
  std::string stages;             // what the stages of print_after showed
  std::string unchanged_because;  // when !changed
  std::string policy_dtypes;      // two lines "Compute dtype: ...", "Variable dtype: ..."; empty without a policy
  std::string compatibility;  // whether the low type is fast on the target or this machine; empty if neither is named
  std::vector<std::string> warnings, advice;
};

struct RewriteResult {
  onnx::ModelProto model;  // the input itself when nothing was converted
  RewriteSummary summary;
};

// Rewrites a model in memory. External data cannot be resolved here: kInvalidArgument.
absl::StatusOr<RewriteResult> Rewrite(const onnx::ModelProto& model, const RewriteOptions& options = {});

// Rewrites a file, streaming external data. Input and any earlier output stay as they are on failure. When nothing is
// converted, the input's bytes are the output.
absl::StatusOr<RewriteSummary> RewriteFile(const std::string& input, const std::string& output,
                                           const RewriteOptions& options = {});

// The effective operator table as a list file for the low type that the options choose.
absl::StatusOr<std::string> PrintLists(const RewriteOptions& options);

// The profiles' names; and a line for each with its name, what it is and its low types.
std::vector<std::string> ListProfiles();
std::string DescribeProfiles();

}  // namespace amp

#endif  // AMP_TOOLS_AMP_H_
