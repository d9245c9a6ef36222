#include "tests/golden_runner.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "ir/base/status.h"
#include "ir/file/text.h"
#include "onnx/onnx_pb.h"

namespace amp {
namespace {

constexpr absl::string_view kCase = "// ----- case ";
constexpr absl::string_view kOptions = "// options: ";
constexpr absl::string_view kExpect = "// expect:";
constexpr absl::string_view kBecause = "// because ";

std::vector<std::string> SplitOptions(absl::string_view text) {
  std::vector<std::string> options;
  bool quoted = false, open = false;
  for (const char c : text) {
    if (c == '"') {
      quoted = !quoted;
    } else if (c == ' ' && !quoted) {
      open = false;
      continue;
    }
    if (!open) options.emplace_back();
    open = true;
    if (c != '"') options.back() += c;
  }
  return options;
}

// Reads one section after the other; `golden` is null in the preamble.
class Reader {
 public:
  absl::Status Line(absl::string_view line, int number) {
    if (absl::ConsumePrefix(&line, kCase)) return StartCase(line, number);
    if (file_.cases.empty()) return Preamble(line, number);
    GoldenCase& golden = file_.cases.back();
    if (absl::ConsumePrefix(&line, kExpect)) return Expect(golden, absl::StripAsciiWhitespace(line), number);
    if (absl::ConsumePrefix(&line, kBecause)) return Because(golden, line, number);
    if (!in_expectation_) {
      if (absl::StartsWith(line, kOptions)) golden.options = SplitOptions(line.substr(kOptions.size()));
      absl::StrAppend(&golden.input, line, "\n");
    } else if (golden.expectation == GoldenExpectation::kModel) {
      absl::StrAppend(&golden.expected, line, "\n");
    } else if (!absl::StripAsciiWhitespace(line).empty()) {
      return UsageError("line ", number, ": text after an expectation that takes none");
    }
    return absl::OkStatus();
  }

  absl::StatusOr<GoldenFile> Finish() && {
    AMP_RETURN_IF_ERROR(EndCase());
    if (file_.cases.empty()) return UsageError("line 1: no case");
    return std::move(file_);
  }

 private:
  absl::Status StartCase(absl::string_view name, int number) {
    AMP_RETURN_IF_ERROR(EndCase());
    for (const GoldenCase& other : file_.cases) {
      if (other.name == name) return UsageError("line ", number, ": a second case of the name of line ", other.line);
    }
    GoldenCase& golden = file_.cases.emplace_back();
    golden.name = std::string(absl::StripAsciiWhitespace(name));
    golden.line = number;
    in_expectation_ = false;
    return absl::OkStatus();
  }

  absl::Status EndCase() {
    if (file_.cases.empty()) return absl::OkStatus();
    GoldenCase& golden = file_.cases.back();
    if (!in_expectation_) return UsageError("line ", golden.line, ": the case has no \"", kExpect, "\"");
    absl::StripTrailingAsciiWhitespace(&golden.expected);
    if (golden.expectation == GoldenExpectation::kModel) absl::StrAppend(&golden.expected, "\n");
    return absl::OkStatus();
  }

  absl::Status Preamble(absl::string_view line, int number) {
    if (!line.empty() && !absl::StartsWith(line, "//")) return UsageError("line ", number, ": text before any case");
    absl::StrAppend(&file_.preamble, line, "\n");
    return absl::OkStatus();
  }

  absl::Status Expect(GoldenCase& golden, absl::string_view what, int number) {
    if (in_expectation_) return UsageError("line ", number, ": a second expectation in one case");
    in_expectation_ = true;
    if (what == "unchanged") {
      golden.expectation = GoldenExpectation::kUnchanged;
    } else if (what.empty()) {
      golden.expectation = GoldenExpectation::kModel;
    } else if (absl::ConsumePrefix(&what, "error:")) {
      golden.expectation = GoldenExpectation::kError;
      golden.expected = std::string(absl::StripLeadingAsciiWhitespace(what));
      if (golden.expected.empty()) return UsageError("line ", number, ": expected which error?");
    } else {
      return UsageError("line ", number, ": expected unchanged, error: TEXT or nothing");
    }
    return absl::OkStatus();
  }

  absl::Status Because(GoldenCase& golden, absl::string_view text, int number) {
    const std::pair<absl::string_view, absl::string_view> parts = absl::StrSplit(text, absl::MaxSplits(": ", 1));
    if (!in_expectation_) return UsageError("line ", number, ": a reason before the expectation");
    if (parts.first.empty() || parts.second.empty()) return UsageError("line ", number, ": expected NAME: REASON");
    golden.because.emplace_back(parts.first, parts.second);
    return absl::OkStatus();
  }

  GoldenFile file_;
  bool in_expectation_ = false;
};

// The model in `input` without the lines that are not ONNX's.
std::string ModelText(absl::string_view input) {
  std::string text;
  for (const absl::string_view line : absl::StrSplit(input, '\n')) {
    if (!absl::StartsWith(absl::StripLeadingAsciiWhitespace(line), "//")) absl::StrAppend(&text, line, "\n");
  }
  return text;
}

// `text` as the ONNX library prints it; texts that it cannot print whole (sub-byte types) stay as they are.
std::string Canonical(absl::string_view text) {
  onnx::ModelProto model;
  const absl::StatusOr<std::string> bytes = ParseOnnxText(text);
  if (!bytes.ok() || !model.ParseFromString(*bytes)) return std::string(text);
  absl::StatusOr<std::string> printed = PrintOnnxText(model);
  return printed.ok() ? *std::move(printed) : std::string(text);
}

std::string ReasonOf(const GoldenResult& result, const std::string& name) {
  const auto it = result.reasons.find(name);
  return it == result.reasons.end() ? std::string(kNoReason) : it->second;
}

// A stage's output is not a model's final form; everything else must be stable under a second rewrite.
bool IsFinal(const GoldenCase& golden) {
  return std::none_of(golden.options.begin(), golden.options.end(),
                      [](const std::string& option) { return absl::StartsWith(option, "--stop-after"); });
}

std::string CheckOutput(const GoldenCase& golden, const std::string& input, const GoldenResult& result) {
  if (golden.expectation == GoldenExpectation::kError) {
    if (result.error.empty()) return absl::StrCat("expected the error \"", golden.expected, "\", but it succeeded\n");
    if (absl::StrContains(result.error, golden.expected)) return "";
    return absl::StrCat("expected error: ", golden.expected, "\nfound error:    ", result.error, "\n");
  }
  if (!result.error.empty()) return absl::StrCat("unexpected error: ", result.error, "\n");
  const bool unchanged = golden.expectation == GoldenExpectation::kUnchanged;
  const std::string want = Canonical(unchanged ? input : golden.expected);
  if (!unchanged && want == Canonical(input)) return "the expected output is the input: write \"expect: unchanged\"\n";
  const std::string got = Canonical(result.text);
  return want == got ? "" : absl::StrCat("output (-expected +found):\n", LineDiff(want, got));
}

}  // namespace

absl::StatusOr<GoldenFile> ParseGoldenFile(absl::string_view text) {
  Reader reader;
  int number = 0;
  for (const absl::string_view line : absl::StrSplit(absl::StripSuffix(text, "\n"), '\n')) {
    AMP_RETURN_IF_ERROR(reader.Line(line, ++number));
  }
  return std::move(reader).Finish();
}

std::string PrintGoldenFile(const GoldenFile& file) {
  std::string text = file.preamble;
  for (const GoldenCase& golden : file.cases) {
    if (&golden != &file.cases.front()) absl::StrAppend(&text, "\n");
    absl::StrAppend(&text, kCase, golden.name, "\n", golden.input, kExpect);
    const bool is_error = golden.expectation == GoldenExpectation::kError;
    if (golden.expectation == GoldenExpectation::kUnchanged) absl::StrAppend(&text, " unchanged");
    if (is_error) absl::StrAppend(&text, " error: ", golden.expected);
    absl::StrAppend(&text, "\n");
    for (const auto& [name, reason] : golden.because) absl::StrAppend(&text, kBecause, name, ": ", reason, "\n");
    if (golden.expectation == GoldenExpectation::kModel) absl::StrAppend(&text, golden.expected);
  }
  return text;
}

std::string CheckGoldenCase(const GoldenCase& golden, const GoldenRewrite& rewrite) {
  const std::string input = ModelText(golden.input);
  if (const auto bytes = ParseOnnxText(input); !bytes.ok()) {
    return absl::StrCat("the input is no model: ", bytes.status().message(), " (lines of comments not counted)\n");
  }
  const GoldenResult result = rewrite(input, golden.options);
  std::string complaint = CheckOutput(golden, input, result);
  for (const auto& [name, reason] : golden.because) {
    const std::string found = ReasonOf(result, name);
    if (found == reason) continue;
    absl::StrAppend(&complaint, "because ", name, "\n  expected: ", reason, "\n  found:    ", found, "\n");
  }
  if (result.error.empty() && IsFinal(golden)) {
    const GoldenResult again = rewrite(result.text, golden.options);
    if (!again.error.empty()) {
      absl::StrAppend(&complaint, "rewriting the output again fails: ", again.error, "\n");
    } else if (again.text != result.text) {
      absl::StrAppend(&complaint, "rewriting twice is not rewriting once (-once +twice):\n",
                      LineDiff(result.text, again.text));
    }
  }
  return complaint;
}

void UpdateGoldenCase(GoldenCase& golden, const GoldenRewrite& rewrite) {
  const std::string input = ModelText(golden.input);
  const GoldenResult result = rewrite(input, golden.options);
  for (auto& [name, reason] : golden.because) reason = ReasonOf(result, name);
  if (!result.error.empty()) {
    const bool already = golden.expectation == GoldenExpectation::kError;
    if (already && absl::StrContains(result.error, golden.expected)) return;  // a chosen part of the message stays
    golden.expectation = GoldenExpectation::kError;
    golden.expected = result.error;
  } else if (Canonical(result.text) == Canonical(input)) {
    golden.expectation = GoldenExpectation::kUnchanged;
    golden.expected.clear();
  } else {
    const bool same =
        golden.expectation == GoldenExpectation::kModel && Canonical(golden.expected) == Canonical(result.text);
    if (same) return;  // a layout made by hand stays
    golden.expectation = GoldenExpectation::kModel;
    golden.expected = result.text;
  }
}

std::string LineDiff(absl::string_view expected, absl::string_view actual) {
  constexpr size_t kContext = 2;
  const std::vector<absl::string_view> a = absl::StrSplit(expected, '\n'), b = absl::StrSplit(actual, '\n');
  // common[i][j]: length of the longest common subsequence of a[i..] and b[j..].
  std::vector<std::vector<int>> common(a.size() + 1, std::vector<int>(b.size() + 1, 0));
  for (size_t i = a.size(); i-- > 0;) {
    for (size_t j = b.size(); j-- > 0;) {
      common[i][j] = a[i] == b[j] ? common[i + 1][j + 1] + 1 : std::max(common[i + 1][j], common[i][j + 1]);
    }
  }
  std::vector<std::string> lines;
  for (size_t i = 0, j = 0; i < a.size() || j < b.size();) {
    if (i < a.size() && j < b.size() && a[i] == b[j]) {
      lines.push_back(absl::StrCat("  ", a[i++]));
      ++j;
    } else if (i < a.size() && (j == b.size() || common[i + 1][j] >= common[i][j + 1])) {
      lines.push_back(absl::StrCat("- ", a[i++]));
    } else {
      lines.push_back(absl::StrCat("+ ", b[j++]));
    }
  }
  std::string out;
  for (size_t i = 0; i < lines.size(); ++i) {
    const size_t from = i < kContext ? 0 : i - kContext, to = std::min(lines.size(), i + kContext + 1);
    const bool near =
        std::any_of(lines.begin() + static_cast<ptrdiff_t>(from), lines.begin() + static_cast<ptrdiff_t>(to),
                    [](const std::string& line) { return line[0] != ' '; });
    if (near) absl::StrAppend(&out, lines[i], "\n");
  }
  return out;
}

}  // namespace amp
