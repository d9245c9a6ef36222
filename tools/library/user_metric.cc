#include "tools/library/user_metric.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "ir/base/atomic_file.h"
#include "ir/base/status.h"
#include "ir/file/save.h"
#include "tools/library/run_command.h"

namespace amp {
namespace {

namespace fs = std::filesystem;

// The last line of a text that has anything in it.
std::string LastLine(const std::string& text) {
  const std::vector<std::string> lines = absl::StrSplit(text, '\n', absl::SkipWhitespace());
  return lines.empty() ? "" : std::string(absl::StripAsciiWhitespace(lines.back()));
}

// "accuracy: 0.9812" -> 0.9812
absl::StatusOr<double> LastNumber(const std::string& text) {
  const std::string line = LastLine(text);
  const std::vector<std::string> words = absl::StrSplit(line, absl::ByAnyChar(" \t:="), absl::SkipEmpty());
  double number = 0;
  if (!words.empty() && absl::SimpleAtod(words.back(), &number)) return number;
  return UsageError("--metric-command: expected a number at the end of the last line that it prints, found '",
                    Escaped(line), "'");
}

absl::StatusOr<double> RunMetric(const RewriteOptions& options, const std::string& path) {
  // Quotes around {model} are those that it gets.
  const std::string model = ShellQuoted(path), place(kModelInCommand);
  const std::string command = absl::StrReplaceAll(
      options.metric_command,
      {{absl::StrCat("'", place, "'"), model}, {absl::StrCat("\"", place, "\""), model}, {place, model}});
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
  if (folder_.empty()) return;
  std::error_code error;
  std::filesystem::remove_all(folder_, error);
  ForgetForSignals(parent_.get(), fs::path(folder_).filename().string());
}

absl::Status UserMetric::MakeFolder() {
  std::error_code error;
  const fs::path parent = fs::temp_directory_path(error);
  std::string name = (parent / "amp-search-XXXXXX").string();
  if (error || ::mkdtemp(name.data()) == nullptr) {
    const char* const given = std::getenv("TMPDIR");
    return IoError("--search: no folder for models can be made in '",
                   Escaped(given == nullptr ? parent.string() : std::string(given)), "' (TMPDIR)");
  }
  folder_ = name;
  parent_ = UniqueFile(FileSystem::Real(), ::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  opened_ = UniqueFile(FileSystem::Real(), ::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  RememberForSignals(parent_.get(), fs::path(folder_).filename().string(), Remembered::kFolder);
  return absl::OkStatus();
}

UserMetric::SavedModel::~SavedModel() {
  for (const std::string& name : names) {
    if (name.empty()) continue;
    ::unlinkat(folder, name.c_str(), 0);
    ForgetForSignals(folder, name);
  }
}

absl::StatusOr<double> UserMetric::Of(const LoadedFile& file) {
  if (file.original != nullptr) return OfPath(file.path);
  if (folder_.empty()) AMP_RETURN_IF_ERROR(MakeFolder());
  SaveOptions how;
  how.limits = options_.limits.AfterInlining();
  SavedModel saved{opened_.get(), {"model.onnx"}};
  const std::string path = absl::StrCat(folder_, "/", saved.names.front());
  RememberForSignals(saved.folder, saved.names.front());
  AMP_ASSIGN_OR_RETURN(const SaveResult result, SaveModel(*file.model, file.weights(), path, how));
  saved.names.push_back(result.data_file);
  if (!result.data_file.empty()) RememberForSignals(saved.folder, result.data_file);
  return OfPath(path);
}

absl::StatusOr<double> UserMetric::OfPath(const std::string& path) const {
  return options_.metric_function ? options_.metric_function(path) : RunMetric(options_, path);
}

}  // namespace amp
