#include "tools/library/check_options.h"

#include <cmath>
#include <filesystem>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "ir/base/status.h"
#include "ir/file/data_files.h"
#include "tools/library/limit_flags.h"
#include "tools/library/precision_policy.h"
#include "tools/library/rewrite_flags.h"
#include "tools/library/train_options.h"
#include "tools/library/user_metric.h"
#include "tools/report/html_report.h"

namespace amp {
namespace {

namespace fs = std::filesystem;

absl::Status CheckKeepIo(const RewriteOptions& options) {
  if (options.keep_io_names.empty()) return absl::OkStatus();
  const std::string names = Escaped(absl::StrJoin(options.keep_io_names, ","));
  if (options.keep_io.value_or(true)) {
    return UsageError("--keep-io: names (", names,
                      ") are the ones that stay where the others do not; expected keep_io ", "to be false with them");
  }
  if (absl::c_linear_search(options.keep_io_names, "")) {
    return UsageError("--keep-io: empty item in '", names, "'");
  }
  return absl::OkStatus();
}

// Taking a rewrite back decides nothing: what steers decisions would be ignored. The policy tells of its own
// contradictions; signatures are facts about the model.
absl::Status CheckUndo(const RewriteOptions& options) {
  if (!TakesBack(options)) return absl::OkStatus();
  const std::string flag = !options.print_after.empty()        ? "--print-after"
                           : options.annotate                  ? "--annotate"
                           : !options.node_data_file.empty()   ? "--node-data"
                           : WrapsTrainingGraph(options.train) ? "--loss-scale"
                                                               : FirstDecidingFlag(options);
  if (flag.empty()) return absl::OkStatus();
  return UsageError("--policy float32 takes a rewrite back as a whole; ", flag, " does not apply to that");
}

// Checks early whether files beside the model can be written, so that no model is written if they cannot.
absl::Status CheckSideFile(const std::string& name, const std::string& file) {
  if (file.empty()) return absl::OkStatus();
  const std::string flag = absl::StrCat(name, ": ");
  std::error_code error;
  const fs::path path(file);
  if (!OwnerOfDataFile(path.filename().string()).empty()) {
    return RefusedError(flag, "'", Escaped(file), "' has the name of a model's data file");
  }
  if (fs::is_symlink(path, error)) {
    return RefusedError(flag, "'", Escaped(file),
                        "' is a symbolic link; expected a file: name what it points to, or - for standard output");
  }
  if (fs::exists(path, error) && !fs::is_regular_file(path, error)) {
    return RefusedError(flag, "'", Escaped(file), "' exists and is not a regular file");
  }
  const fs::path folder = path.has_parent_path() ? path.parent_path() : ".";
  if (fs::is_directory(folder, error)) return absl::OkStatus();
  return IoError(flag, "'", Escaped(folder.string()), "' is no folder");
}

// Adds the files that flags name.
void AddSideFiles(const RewriteOptions& options, FileUses& uses) {
  for (const Flag<RewriteOptions>& row : RewriteFlags()) {
    if (row.traits.files) row.traits.files(row.name, options, uses);
  }
}

// Whether a rewrite is checked where nobody asks for that.
bool MayVerify(const RewriteOptions& options) {
  return options.verify == RewriteOptions::Verify::kFix || VerifiesByItself(options);
}

// Returns the flag with which parts of a model cannot be judged by runs; "" where there is none.
std::string RunsNothing(const RewriteOptions& options) {
  return options.train.train                              ? "--train"
         : WrapsTrainingGraph(options.train)              ? "--loss-scale"
         : TakesBack(options)                             ? "--policy float32"
         : !options.stop_after.empty()                    ? "--stop-after"
         : options.functions == FunctionMode::kSpecialise ? "--functions specialise"
                                                          : "";
}

absl::Status CheckSensitivity(const RewriteOptions& options) {
  if (!options.sensitivity) {
    if (options.sensitivity_file.empty()) return absl::OkStatus();
    return UsageError("--sensitivity: a file (", Escaped(options.sensitivity_file), ") is for sensitivity on");
  }
  if (options.measure < 0) return UsageError("--measure: expected a number of at least 0, found ", options.measure);
  if (options.calibration.empty()) {
    return UsageError("--sensitivity: expected samples, --calibration FILE.npz; on made-up data it would mislead");
  }
  const std::string excluded = RunsNothing(options);
  return excluded.empty() ? absl::OkStatus() : UsageError("--sensitivity and ", excluded, " exclude each other");
}

// How a search judges: by an error of outputs, or by a number of the caller's.
absl::Status CheckMetric(const RewriteOptions& options) {
  const RewriteOptions usual;
  const bool has_command = !options.metric_command.empty(), has_function = options.metric_function != nullptr;
  if (has_command && has_function) return UsageError("--metric-command and metric_function exclude each other");
  if (!has_command && !has_function) {
    if (options.max_drop.has_value()) return UsageError("--max-drop is about --metric-command, which is not asked for");
    if (!options.max_error.has_value()) {
      if (options.metric == usual.metric) return absl::OkStatus();
      return UsageError("--metric ", NameOf(options.metric), ": expected --max-error too, found none");
    }
    if (*options.max_error > 0 && std::isfinite(*options.max_error)) return absl::OkStatus();
    return UsageError("--max-error: expected a number above 0, found ", *options.max_error);
  }
  const std::string name = has_command ? "--metric-command" : "metric_function";
  if (options.max_error.has_value() || options.metric != usual.metric) {
    return UsageError(options.max_error.has_value() ? "--max-error" : "--metric", " and ", name,
                      " exclude each other: a drop of its number is bounded by --max-drop");
  }
  if (!options.max_drop.has_value()) return UsageError(name, ": expected --max-drop too, found none");
  if (!(*options.max_drop >= 0 && std::isfinite(*options.max_drop))) {
    return UsageError("--max-drop: expected a number of at least 0, found ", *options.max_drop);
  }
  if (has_command && !absl::StrContains(options.metric_command, kModelInCommand)) {
    return UsageError("--metric-command: expected ", kModelInCommand, " in it, for the path of a model, found '",
                      Escaped(options.metric_command), "'");
  }
  constexpr int64_t kLongest = int64_t{1} << 31;
  if (options.metric_timeout < 1 || options.metric_timeout > kLongest) {
    return UsageError("--metric-timeout: expected a number from 1 to ", kLongest, ", found ", options.metric_timeout);
  }
  return absl::OkStatus();
}

absl::Status CheckSearch(const RewriteOptions& options) {
  constexpr int64_t kFewestRuns = 2;
  if (!options.search) {
    return options.metric_function == nullptr ? absl::OkStatus()
                                              : UsageError("metric_function is about --search, which is not asked for");
  }
  if (options.calibration.empty()) {
    return UsageError("--search: expected samples, --calibration FILE.npz; on made-up data it would mislead");
  }
  AMP_RETURN_IF_ERROR(CheckMetric(options));
  if (!(options.holdout >= 0 && options.holdout < 1)) {
    return UsageError("--holdout: expected a share from 0 to less than 1, found ", options.holdout);
  }
  if (options.budget_runs.value_or(kFewestRuns) < kFewestRuns) {
    return UsageError("--budget-runs: expected at least ", kFewestRuns, ", found ", *options.budget_runs);
  }
  const std::string excluded = RunsNothing(options);
  return excluded.empty() ? absl::OkStatus() : UsageError("--search and ", excluded, " exclude each other");
}

// An option that has no effect without another one is an error.
absl::Status CheckNeeds(const RewriteOptions& options) {
  const FlagTable<RewriteOptions>& table = RewriteFlags();
  for (const Flag<RewriteOptions>& row : table) {
    if (row.traits.needs.empty() || !row.IsSet(options)) continue;
    const auto needed = absl::c_find_if(table, [&](const auto& other) { return other.name == row.traits.needs; });
    if (needed->IsSet(options)) continue;
    return UsageError(row.name, " is about ", row.traits.needs, ", which is not asked for");
  }
  return absl::OkStatus();
}

absl::Status CheckRuns(const RewriteOptions& options) {
  const bool observes = !options.calibration.empty() || !options.ranges.empty();
  const bool runs_samples = options.sensitivity || options.search;
  if (observes && !runs_samples && options.guards == RewriteOptions::Guards::kNone) {
    return UsageError(options.calibration.empty() ? "--ranges" : "--calibration",
                      " is for a guard, and --guards none switches all of them off");
  }
  const bool is_off = options.verify == RewriteOptions::Verify::kOff;
  const bool has_file = !options.verify_file.empty();
  if (has_file && (is_off || options.verify == RewriteOptions::Verify::kAuto)) {
    return UsageError("--verify: a file (", Escaped(options.verify_file), ") is for verify on or fix");
  }
  const bool is_on = options.verify == RewriteOptions::Verify::kOn;
  const bool makes_up = !is_off && !has_file && (is_on || options.calibration.empty());
  if (!options.dims.empty() && (!makes_up || (!is_on && !MayVerify(options)))) {
    return UsageError("--dim is for inputs that are made up, of --verify without a file");
  }
  if (!options.tolerance.has_value()) return absl::OkStatus();
  if (is_off || (!is_on && !MayVerify(options))) {
    return UsageError("--tolerance is about --verify, which is off");
  }
  if (*options.tolerance >= 0 && std::isfinite(*options.tolerance)) return absl::OkStatus();
  return UsageError("--tolerance: expected a number of at least 0, found ", *options.tolerance);
}

}  // namespace

bool VerifiesByItself(const RewriteOptions& options) {
  return options.verify == RewriteOptions::Verify::kAuto && options.stop_after.empty() && !options.train.train &&
         !WrapsTrainingGraph(options.train) && !TakesBack(options);
}

absl::Status CheckOptions(const RewriteOptions& options) {
  constexpr double kLargestError = 1e30;
  const double error = options.max_weight_error;
  if (!(error >= 0 && error <= kLargestError)) {
    return UsageError("--max-weight-error: expected a number from 0 to ", kLargestError, ", found ", error);
  }
  AMP_RETURN_IF_ERROR(CheckNeeds(options));
  AMP_RETURN_IF_ERROR(CheckRuns(options));
  AMP_RETURN_IF_ERROR(CheckSensitivity(options));
  AMP_RETURN_IF_ERROR(CheckSearch(options));
  const auto placement = options.placement.value_or(RewriteOptions::Placement::kPaint);
  if (options.follow.has_value() && placement != RewriteOptions::Placement::kPaint) {
    return UsageError("--follow is about --placement paint; the others decide without it");
  }
  if (options.keep_opset && options.opset.has_value()) {
    return UsageError("--opset: keep and ", *options.opset, " exclude each other");
  }
  if (options.opset.has_value() && *options.opset <= 0) {
    return UsageError("--opset: expected auto, keep or a version, found '", *options.opset, "'");
  }
  AMP_RETURN_IF_ERROR(CheckLimits(options.limits));
  AMP_RETURN_IF_ERROR(CheckKeepIo(options));
  AMP_RETURN_IF_ERROR(CheckTrainOptions(options));
  return CheckUndo(options);
}

absl::Status CheckOptionsForMemory(const RewriteOptions& options) {
  const auto is_of_files = [](const Flag<RewriteOptions>& row) { return row.traits.is_of_files; };
  const std::vector<SetFlag> flags = SetFlags(RewriteFlags(), options, is_of_files);
  const std::string of_files = !flags.empty()                        ? flags.front().flag
                               : !options.report_file.empty()        ? "--report"
                               : !options.sensitivity_file.empty()   ? "--sensitivity=FILE"
                               : options.before_replacing != nullptr ? "before_replacing"
                                                                     : "";
  if (of_files.empty()) return absl::OkStatus();
  return UsageError(of_files, " is about files and does not apply to a model in memory");
}

bool DrawsValues(const RewriteOptions& options) { return options.report_values || IsHtmlFile(options.report_file); }

FileKind KindOfReport(const RewriteOptions& options) {
  return IsHtmlFile(options.report_file) ? FileKind::kHtml : FileKind::kJson;
}

FileUses FilesOf(const RewriteOptions& options, const std::string& input, const std::string& output) {
  FileUses uses{.force = options.force};
  uses.reads.push_back({"MODEL", input});
  if (!options.dry_run) uses.writes.push_back({options.in_place ? "--in-place" : "-o", output, FileKind::kModel});
  AddSideFiles(options, uses);
  return uses;
}

absl::Status CheckOptionsForFiles(const RewriteOptions& options, const std::string& input, const std::string& output) {
  if (output.empty() && !options.dry_run) return UsageError("expected -o OUT.onnx, --in-place or --dry-run");
  std::error_code error;
  if (options.in_place && !output.empty() && !fs::equivalent(input, output, error) && input != output) {
    return UsageError("--in-place and -o exclude each other");
  }
  if (!output.empty() && !options.dry_run && fs::is_symlink(output, error)) {
    return RefusedError("the output '", Escaped(output),
                        "' is a symbolic link; expected a file: name what it points to");
  }
  FileUses beside;
  AddSideFiles(options, beside);
  for (const FileWritten& file : beside.writes) AMP_RETURN_IF_ERROR(CheckSideFile(file.flag, file.path));
  return CheckFileUses(FilesOf(options, input, output));
}

}  // namespace amp
