#include "tools/train/result_files.h"

#include <filesystem>
#include <string>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "ir/base/atomic_file.h"
#include "ir/base/status.h"
#include "tools/data/data_file.h"
#include "tools/report/html_report.h"

namespace amp {
namespace {

// Names what stands in the place of a file, if it is no file; "" for a file, or if there is nothing.
std::string FindOtherThan(const std::string& path) {
  std::error_code none;
  switch (std::filesystem::status(path, none).type()) {
    case std::filesystem::file_type::directory:
      return "a folder";
    case std::filesystem::file_type::block:
    case std::filesystem::file_type::character:
      return "a device";
    case std::filesystem::file_type::fifo:
      return "a pipe";
    case std::filesystem::file_type::socket:
      return "a socket";
    default:
      return "";
  }
}

// By a temporary file of one byte beside it, as saving has one, which goes again: a disk may be full.
absl::Status CheckWritable(const FileWritten& result, bool force) {
  const std::string expected = absl::StrCat(result.flag, ": expected a file"), path = Escaped(result.path);
  if (const std::string other = FindOtherThan(result.path); !other.empty()) {
    return InFile(path, IoError(expected, ", found ", other));
  }
  const NewContent content{result.kind, force};
  const absl::Status status =
      PrepareFile(result.path, content, [](AtomicFile& file) { return file.Append("\n"); }).status();
  if (status.ok()) return absl::OkStatus();
  absl::string_view reason = status.message();
  absl::ConsumePrefix(&reason, absl::StrCat(path, ": "));
  return InFile(path, absl::Status(status.code(), absl::StrCat(expected, " that can be written: ", reason)));
}

}  // namespace

FileKind KindOfLog(const std::string& path) { return IsHtmlFile(path) ? FileKind::kHtml : FileKind::kCsv; }

FileUses FilesOf(const TrainArguments& a) {
  FileUses uses{.reads = {{"STEP", a.model}, {"--forward", a.forward}, {"--resume", a.resume}},
                .writes = {{"--checkpoint", a.checkpoint, FileKind::kCheckpoint},
                           {"--save-weights", a.save_weights, FileKind::kModel},
                           {"--save-best", a.save_best, FileKind::kModel},
                           {"--log", a.log, KindOfLog(a.log)}},
                .force = a.force};
  for (const auto& [name, file] : a.data) uses.reads.push_back({"--data", PathOfDataFile(file)});
  for (const auto& [name, file] : a.eval_data) uses.reads.push_back({"--eval-data", PathOfDataFile(file)});
  uses.reads.push_back({"--autotune", a.autotune});
  uses.writes.push_back({"--autotune", a.autotune, FileKind::kJson});
  return uses;
}

absl::Status CheckResultFiles(const TrainArguments& arguments) {
  for (const FileWritten& result : FilesOf(arguments).writes) {
    const bool is_result = !result.path.empty() && result.flag != "--autotune";
    if (is_result) AMP_RETURN_IF_ERROR(CheckWritable(result, arguments.force));
  }
  return absl::OkStatus();
}

absl::Status CheckDataFiles(const TrainArguments& arguments, const Trainer& trainer) {
  FileUses uses = FilesOf(arguments);
  for (const FileRead& read : trainer.files().reads) uses.reads.push_back({"STEP", read.path, read.opened});
  AddDataFilesOf("--forward", arguments.forward, arguments.session.limits, uses);
  return CheckFileUses(uses);
}

}  // namespace amp
