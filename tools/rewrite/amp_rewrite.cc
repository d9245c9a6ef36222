#include "tools/rewrite/amp_rewrite.h"

#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "ir/base/fenced.h"
#include "ir/base/status.h"
#include "tools/library/amp.h"
#include "tools/program/out_of_memory.h"
#include "tools/rewrite/parse_arguments.h"

namespace amp {
namespace {

void PrintWarningsAndAdvice(const Arguments& a, const RewriteSummary& summary, std::string& err) {
  constexpr size_t kShown = 5;
  const size_t shown = a.verbose ? summary.warnings.size() : std::min(summary.warnings.size(), kShown);
  for (size_t i = 0; i < shown; ++i) {
    absl::StrAppend(&err, "amp-rewrite: warning: ", Escaped(a.input), ": ", summary.warnings[i], "\n");
  }
  if (shown < summary.warnings.size()) {
    absl::StrAppend(&err, "amp-rewrite: ", summary.warnings.size() - shown, " more warnings; --verbose prints them\n");
  }
  if (!summary.explanation.empty()) return;  // it has the advice
  for (const std::string& advice : summary.advice) {
    if (absl::c_linear_search(summary.hints, advice)) continue;  // for who reads reports
    absl::StrAppend(&err, "amp-rewrite: advice: ", advice, "\n");
  }
}

// Prints what was asked for beside the model, before any file changes: if printing fails, no file does.
std::string Products(const Arguments& a, const RewriteSummary& summary) {
  std::string text = summary.stages;
  if (!a.quiet) text += summary.policy_dtypes;
  text += summary.explanation;
  text += summary.diff;
  text += summary.sensitivity;
  return text;
}

// "calibrate, 2 of 3 done"
std::string ProgressText(const Progress& progress) {
  if (progress.total == 0) return absl::StrCat(progress.step, " done");
  constexpr int64_t kPercent = 100;
  const std::string done = progress.step == "write" ? absl::StrCat(kPercent * progress.done / progress.total, " %")
                                                    : absl::StrCat(progress.done, " of ", progress.total);
  return absl::StrCat(progress.step, ", ", done, " done");
}

// "; this machine computes no faster in float16" where that is so and nobody has said it yet; else "".
std::string SpeedClause(const RewriteOptions& options, const RewriteSummary& summary,
                        const HasFastFloat16& has_fast_float16) {
  using Dtype = RewriteOptions::Dtype;
  using Policy = RewriteOptions::Policy;
  const auto policy = options.policy.value_or(Policy::kMixedFloat16);
  const bool is_float16 = options.dtype.value_or(Dtype::kFloat16) == Dtype::kFloat16 &&
                          (policy == Policy::kMixedFloat16 || policy == Policy::kFloat16);
  const bool may_say = is_float16 && summary.changed && summary.compatibility.empty() && options.target == "any";
  return may_say && has_fast_float16 && !has_fast_float16() ? "; this machine computes no faster in float16" : "";
}

absl::Status Rewrite(Arguments& a, const ToolStreams& streams, const HasFastFloat16& has_fast_float16,
                     ToolOutput& output) {
  NameInOutOfMemory(a.input);
  if (a.options.sensitivity && a.output.empty()) a.options.dry_run = true;
  const bool report_on_stdout = a.options.report;  // then stdout is the report's alone
  a.options.before_replacing = [&](const RewriteSummary& summary) -> absl::Status {
    const std::string text = report_on_stdout ? summary.report : Products(a, summary);
    if (!text.empty()) AMP_RETURN_IF_ERROR(streams.print(text));
    if (!a.options.dry_run) WritesInOutOfMemory(a.output);
    return absl::OkStatus();
  };
  if (streams.show_progress && !a.quiet) {
    a.options.on_progress = [&](const Progress& progress) {
      streams.show_progress(ProgressText(progress));
      return absl::OkStatus();
    };
  }
  AMP_ASSIGN_OR_RETURN(const RewriteSummary summary, RewriteFile(a.input, a.output, a.options));
  if (!a.options.dry_run) output.written = a.output;
  if (a.quiet) {
    if (report_on_stdout) output.err += Products(a, summary);
    return absl::OkStatus();
  }
  output.err += summary.compatibility;
  PrintWarningsAndAdvice(a, summary, output.err);
  if (report_on_stdout) output.err += Products(a, summary);
  const std::string where = a.options.dry_run ? "dry run, wrote nothing" : absl::StrCat("wrote ", Escaped(a.output));
  const std::string why = summary.changed ? "" : absl::StrCat(" (the input as it is: ", summary.unchanged_because, ")");
  std::string& text = report_on_stdout ? output.err : output.out;
  const bool is_auto = a.options.verify == RewriteOptions::Verify::kAuto;
  const std::string verification = is_auto && !summary.verification.empty() ? "; " + summary.verification : "";
  if (streams.is_watched) output.err += summary.search_front;
  if (!summary.search.empty()) absl::StrAppend(&text, summary.search, "\n");
  if (!is_auto && !summary.verification.empty()) absl::StrAppend(&text, summary.verification, "\n");
  absl::StrAppend(&text, summary.line, "; ", where, why, SpeedClause(a.options, summary, has_fast_float16),
                  verification, "\n");
  return absl::OkStatus();
}

// Exceptions of the libraries below end here.
absl::Status RewriteFenced(Arguments& a, const ToolStreams& streams, const HasFastFloat16& has_fast_float16,
                           ToolOutput& output) {
  try {
    return Rewrite(a, streams, has_fast_float16, output);
  } catch (...) {
    return StatusOfException(a.input, InFile(a.input, OutOfMemory()));
  }
}

absl::Status Run(ParsedArguments parsed, const ToolStreams& streams, const HasFastFloat16& has_fast_float16,
                 ToolOutput& output) {
  Arguments& arguments = parsed.arguments;
  if (!parsed.text.empty()) {
    output.out = std::move(parsed.text);
  } else if (arguments.list_profiles) {
    output.out = DescribeProfiles();
  } else if (arguments.print_lists) {
    AMP_ASSIGN_OR_RETURN(output.out, PrintLists(arguments.options));
  } else {
    return RewriteFenced(arguments, streams, has_fast_float16, output);
  }
  return absl::OkStatus();
}

}  // namespace

ToolOutput RunAmpRewrite(const std::vector<std::string>& arguments, ToolStreams streams,
                         const HasFastFloat16& has_fast_float16) {
  ToolOutput output;
  if (!streams.print) streams.print = CollectIn(output);
  absl::StatusOr<ParsedArguments> parsed = ParseArguments(arguments);
  const absl::Status status =
      parsed.ok() ? Run(*std::move(parsed), streams, has_fast_float16, output) : parsed.status();
  if (!status.ok()) {
    output.exit_code = ExitCode(status);
    absl::StrAppend(&output.err, "amp-rewrite: error: ", std::string(status.message()), "\n");
  }
  return output;
}

}  // namespace amp
