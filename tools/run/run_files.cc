#include "tools/run/run_files.h"

#include "tools/data/data_file.h"
#include "tools/report/html_report.h"
#include "tools/run/run_outputs.h"

namespace amp {
namespace {

std::string UnlessStandardOutput(const std::string& path) { return path == kStandardOutput ? "" : path; }

}  // namespace

FileKind KindOfProfile(const std::string& path) { return IsHtmlFile(path) ? FileKind::kHtml : FileKind::kJson; }

FileUses FilesOf(const RunArguments& a) {
  FileUses uses{.reads = {{"MODEL", a.model}, {"--inputs", a.inputs}, {"--compare", a.compare}},
                .writes = {{"--outputs", UnlessStandardOutput(a.outputs), KindOfOutputs(a.outputs)},
                           {"--profile", UnlessStandardOutput(a.profile), KindOfProfile(a.profile)},
                           {"--report", a.report, FileKind::kHtml}},
                .force = a.force};
  for (const auto& [name, file] : a.input_files) uses.reads.push_back({"--input", file});
  for (const auto& [name, file] : a.evaluate) uses.reads.push_back({"--evaluate", PathOfDataFile(file)});
  uses.reads.push_back({"--autotune", a.autotune});
  uses.writes.push_back({"--autotune", a.autotune, FileKind::kJson});
  return uses;
}

}  // namespace amp
