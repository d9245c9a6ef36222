// The manual pages of the programs: every flag of --help is there, and no text in them is a roff command by accident.
#include <set>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "tests/catch2.h"
#include "tools/rewrite/amp_rewrite.h"
#include "tools/run/amp_run.h"
#include "tools/train/amp_train.h"

namespace amp {
namespace {

using Run = ToolOutput (*)(const std::vector<std::string>&);
struct Program {
  std::string page;
  Run run;
  std::vector<std::string> ahead = {};

  std::string Text(const std::string& flag) const {
    std::vector<std::string> arguments = ahead;
    arguments.push_back(flag);
    const ToolOutput output = run(arguments);
    CHECK(output.exit_code == 0);
    return output.out;
  }
};

const Program kPrograms[] = {
    {"AMP-REWRITE", [](const std::vector<std::string>& a) { return RunAmpRewrite(a); }},
    {"AMP-RUN", [](const std::vector<std::string>& a) { return RunAmpRun(a); }},
    {"AMP-TRAIN", [](const std::vector<std::string>& a) { return RunAmpTrain(a); }},
    {"AMP-TRAIN-NEW", [](const std::vector<std::string>& a) { return RunAmpTrain(a); }, {"new"}}};

// The flags that begin a line: "  -o,--output OUT.onnx   where the result goes".
std::set<std::string> FlagsOfHelp(const std::string& help) {
  std::set<std::string> flags;
  for (const absl::string_view line : absl::StrSplit(help, '\n')) {
    if (!absl::StartsWith(line, "  -")) continue;
    const std::vector<absl::string_view> words = absl::StrSplit(line, ' ', absl::SkipEmpty());
    for (const absl::string_view flag : absl::StrSplit(words[0], ',')) flags.emplace(flag);
  }
  return flags;
}

std::set<std::string> FlagsOfPage(const std::string& page) {
  std::set<std::string> flags;
  bool is_entry = false;
  for (const absl::string_view line : absl::StrSplit(page, '\n')) {
    if (is_entry) {
      const std::vector<absl::string_view> parts = absl::StrSplit(line, "\\fB");
      for (const absl::string_view part : parts) {
        if (absl::StartsWith(part, "\\-")) {
          flags.insert(absl::StrReplaceAll(part.substr(0, part.find("\\f")), {{"\\-", "-"}}));
        }
      }
    }
    is_entry = line == ".TP";
  }
  return flags;
}

TEST_CASE("every flag of --help is in the manual page, and no other") {
  for (const Program& program : kPrograms) {
    INFO(program.page);
    const std::set<std::string> flags = FlagsOfHelp(program.Text("--help"));
    CHECK(flags.size() > 3);
    CHECK(FlagsOfPage(program.Text("--man-page")) == flags);
  }
}

TEST_CASE("lines of a manual page that begin with a dot are its own macros") {
  const std::set<std::string> macros = {".TH", ".SH", ".SS", ".TP", ".PP", ".nf", ".fi"};
  for (const Program& program : kPrograms) {
    INFO(program.page);
    const std::string page = program.Text("--man-page");
    CHECK(absl::StartsWith(page, ".TH \"" + program.page + "\" 1"));
    for (const absl::string_view line : absl::StrSplit(page, '\n')) {
      if (!absl::StartsWith(line, ".") && !absl::StartsWith(line, "'")) continue;
      INFO(line);
      CHECK(macros.contains(std::string(line.substr(0, line.find(' ')))));
    }
  }
}

}  // namespace
}  // namespace amp
