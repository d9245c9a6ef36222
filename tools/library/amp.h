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
// limits, 4 MiB at the largest. What this header, runtime/session.h, runtime/kernel/tensor.h and
// tools/library/trainer.h declare is for callers, up to "internal" in them; everything else is internal.
//
// Errors of all functions, by absl code: kInvalidArgument (an option, a list), kDataLoss (malformed or unsupported
// model), kPermissionDenied (a safety rule), kResourceExhausted (a limit), kUnavailable (input or output),
// kFailedPrecondition (verify: the models differ), kInternal (a defect of this library); and whatever a callback of the
// caller's returns. Options are checked as the flags are: one that is out of range, contradicts another or does not
// apply is kInvalidArgument, none is ignored. The message is one line that names the place, what was expected and what
// was found; RewriteFile's begins with the file or the flag that is at fault. A payload may come along, for programs
// that add words of their own: "amp/unknown-operator" (the name in a list or a flag that no operator has).
//
// Memory that runs out is kResourceExhausted ("out of memory"), and the host lives on, with two limits: a table of
// Abseil's that could not grow frees what it never had when it is destroyed, and JSON values allocate when they are.
// Our programs end at the first allocation that fails instead, with exit code 5.
#ifndef AMP_TOOLS_LIBRARY_AMP_H_
#define AMP_TOOLS_LIBRARY_AMP_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "onnx/onnx_pb.h"
#include "runtime/session.h"
#include "tools/library/rewrite_options.h"
#include "tools/library/trainer.h"

namespace amp {

// Rewrites a model in memory. External data cannot be resolved here: kInvalidArgument. The second form needs less
// memory: the model that was given is let go as soon as the result is made.
absl::StatusOr<RewriteResult> Rewrite(const onnx::ModelProto& model, const RewriteOptions& options = {});
absl::StatusOr<RewriteResult> Rewrite(onnx::ModelProto&& model, const RewriteOptions& options = {});

// Rewrites a serialized model, for callers without protobuf. Errors, besides: kDataLoss, no ONNX model.
absl::StatusOr<RewrittenBytes> RewriteBytes(absl::string_view model, const RewriteOptions& options = {});

// Rewrites a file, streaming external data. Input and any earlier output stay as they are on failure; model, data file
// and report change together. When nothing is converted, the input's bytes are the output. The output's data file,
// "<output>.<16 hex digits>.data", is its own: it goes when the output is replaced, unless another file of the folder
// names it, and a copy of the model has another. `output` is not looked at in a dry run.
absl::StatusOr<RewriteSummary> RewriteFile(const std::string& input, const std::string& output,
                                           const RewriteOptions& options = {});

// A session (runtime/session.h) for a model in memory, or a serialized one; Session::Create makes one for a file.
// Errors: those of Session::Create; kInvalidArgument for external data, which cannot be resolved here.
absl::StatusOr<std::unique_ptr<Session>> MakeSession(const onnx::ModelProto& model, const SessionOptions& options = {});
absl::StatusOr<std::unique_ptr<Session>> MakeSessionOfBytes(absl::string_view model,
                                                            const SessionOptions& options = {});

// The effective operator table as a list file for the low type that the options choose.
absl::StatusOr<std::string> PrintLists(const RewriteOptions& options);

// The profiles' names; and a line for each with its name, what it is and its low types.
std::vector<std::string> ListProfiles();
std::string DescribeProfiles();

}  // namespace amp

#endif  // AMP_TOOLS_LIBRARY_AMP_H_
