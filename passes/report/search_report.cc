#include "passes/report/search_report.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "passes/report/json_text.h"

namespace amp {
namespace {

constexpr double kPercent = 100;

double SavedShare(const SearchReport& report) {
  return report.all_saved_bytes > 0 ? report.choice().saved_bytes / report.all_saved_bytes : 0;
}

// A name between quotes in a list file.
std::string Quoted(const std::string& name) {
  return absl::StrCat("\"", absl::StrReplaceAll(name, {{"\\", "\\\\"}, {"\"", "\\\""}}), "\"");
}

}  // namespace

std::string SearchLine(const SearchReport& report) {
  const VerifiedChoice& taken = report.choice();
  std::string line =
      absl::StrFormat("search: %d of %d part%s stay float32: error %.3g of at most %.3g", report.kept.size(),
                      report.num_parts, report.num_parts == 1 ? "" : "s", taken.error, report.max_error);
  if (taken.held_out.has_value()) {
    absl::StrAppendFormat(&line, ", %.3g on %d sample%s held out", *taken.held_out, report.held_out_samples,
                          report.held_out_samples == 1 ? "" : "s");
  }
  absl::StrAppendFormat(&line, "; %.0f %% of the bytes that all low saves; %d run%s", kPercent * SavedShare(report),
                        report.runs, report.runs == 1 ? "" : "s");
  return line;
}

std::string SearchList(const SearchReport& report) {
  std::string text =
      absl::StrFormat("# Operator list: nodes that stay float32, found by --search; error %.3g of at most %.3g\n",
                      report.choice().error, report.max_error);
  for (const KeptPart& part : report.kept) {
    absl::StrAppendFormat(&text, "# part %s: %.1f %% of the squared error\n",
                          absl::StrReplaceAll(part.name, {{"\n", " "}, {"\r", " "}}), kPercent * part.share);
    for (const std::string& node : part.nodes) absl::StrAppend(&text, "node ", Quoted(node), " deny\n");
  }
  return text;
}

std::string SearchCsv(const SearchReport& report) {
  std::string text = "float32_parts,error,held_out_error,saved_bytes,front,taken\n";
  for (size_t i = 0; i < report.choices.size(); ++i) {
    const VerifiedChoice& choice = report.choices[i];
    const std::string held_out = choice.held_out.has_value() ? absl::StrFormat("%.17g", *choice.held_out) : "";
    absl::StrAppendFormat(&text, "%d,%.17g,%s,%.17g,%d,%d\n", choice.float32.size(), choice.error, held_out,
                          choice.saved_bytes, choice.is_on_front ? 1 : 0, i == report.taken ? 1 : 0);
  }
  return text;
}

void AddSearch(JsonText& json, const SearchReport& report) {
  json.Key("search");
  json.Open('{');
  json.Value("max_error", report.max_error);
  json.Value("samples", report.samples);
  json.Value("held_out_samples", report.held_out_samples);
  json.Value("runs", report.runs);
  json.Value("parts", report.num_parts);
  json.Value("all_saved_bytes", report.all_saved_bytes);
  json.Value("taken", report.taken);
  json.Key("float32");
  json.Open('[');
  for (const KeptPart& part : report.kept) {
    json.Open('{');
    json.Value("part", part.name);
    json.Value("share", part.share);
    json.ListOf("nodes", part.nodes);
    json.Close('}');
  }
  json.Close(']');
  json.Key("choices");
  json.Open('[');
  for (const VerifiedChoice& choice : report.choices) {
    json.Open('{');
    json.ListOf("float32", choice.float32);
    AddNumber(json, "error", choice.error);
    if (choice.held_out.has_value()) {
      AddNumber(json, "held_out_error", *choice.held_out);
    } else {
      json.Value("held_out_error", nullptr);
    }
    json.Value("saved_bytes", choice.saved_bytes);
    json.Value("front", choice.is_on_front);
    json.Close('}');
  }
  json.Close(']');
  json.Close('}');
}

}  // namespace amp
