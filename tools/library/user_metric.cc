#include "tools/library/user_metric.h"

#include <cstdlib>
#include <filesystem>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "ir/base/status.h"
#include "ir/file/save.h"
#include "tools/library/run_command.h"

namespace amp {
namespace {

// The last line of a text that has anything in it.
std::string LastLine(const std::string& text) {
  const std::vector<std::string> lines = absl::StrSplit(text, '\n', absl::SkipWhitespace());
  return lines.empty() ? "" : std::string(absl::StripAsciiWhitespace(lines.back()));
}

// "accuracy: 0.9812" -> 0.9812
absl::StatusOr<double> LastNumber(const std::string& text) {
  const std::string line = LastLine(text);
  const std::vector<std::string> words = absl::StrSplit(line, absl::ByAnyChar(" \t:=,"), absl::SkipEmpty());
  double number = 0;
  if (!words.empty() && absl::SimpleAtod(words.back(), &number)) return number;
  return UsageError("--metric-command: expected a number at the end of the last line that it prints, found '",
                    Escaped(line), "'");
}

absl::StatusOr<double> RunMetric(const RewriteOptions& options, const std::string& path) {
  const std::string command =
      absl::StrReplaceAll(options.metric_command, {{std::string(kModelInCommand), ShellQuoted(path)}});
  const absl::StatusOr<CommandOutput> output =
      RunCommand(command, std::chrono::seconds(options.metric_timeout), options.may_go_on);
  if (absl::IsDeadlineExceeded(output.status())) {
    return absl::ResourceExhaustedError(absl::StrCat("--metric-command: it took longer than ", options.metric_timeout,
                                                     " s, and was ended; --metric-timeout sets how long it may take"));
  }
  if (!output.ok()) return output.status();
  if (output->exit_code != 0) {
    const std::string line = LastLine(output->err.empty() ? output->out : output->err);
    return UsageError("--metric-command: expected exit code 0, found ", output->exit_code, line.empty() ? "" : ": ",
                      Escaped(line));
  }
  return LastNumber(output->out);
}

}  // namespace

UserMetric::~UserMetric() {
  std::error_code error;
  if (!folder_.empty()) std::filesystem::remove_all(folder_, error);
}

absl::StatusOr<std::string> UserMetric::PathOf(const LoadedFile& file) {
  if (file.original != nullptr) return file.path;
  if (folder_.empty()) {
    std::error_code error;
    std::string name = (std::filesystem::temp_directory_path(error) / "amp-search-XXXXXX").string();
    if (error || ::mkdtemp(name.data()) == nullptr) {
      return IoError("--search: no folder for models under '", Escaped(name), "'");
    }
    folder_ = name;
  }
  std::string path = folder_ + "/model.onnx";
  SaveOptions how;
  how.limits = options_.limits.AfterInlining();
  AMP_RETURN_IF_ERROR(SaveModel(*file.model, file.weights(), path, how).status());
  return path;
}

absl::StatusOr<double> UserMetric::Of(const LoadedFile& file) {
  AMP_ASSIGN_OR_RETURN(const std::string path, PathOf(file));
  if (options_.metric_function) return options_.metric_function(path);
  return RunMetric(options_, path);
}

}  // namespace amp
