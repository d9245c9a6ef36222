#include "passes/report/search_report.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "ir/base/status.h"
#include "passes/report/json_text.h"

namespace amp {
namespace {

constexpr double kPercent = 100;

double SavedShare(const SearchReport& report, const VerifiedChoice& choice) {
  return report.all_saved_bytes > 0 ? choice.saved_bytes / report.all_saved_bytes : 0;
}

// "error", "max-abs error", or "drop" of a number of the caller's.
std::string ErrorWord(const SearchReport& report) {
  if (report.metric == kOwnMetric) return "drop";
  return report.metric == SearchReport().metric ? "error" : absl::StrCat(report.metric, " error");
}

// A name as a pattern of a list file: what cannot stand between quotes there is any character.
std::string Quoted(const std::string& name) {
  const auto cannot_stand = [](char c) { return c == '"' || static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  std::string pattern = name;
  if (std::any_of(name.begin(), name.end(), cannot_stand)) {
    for (char& c : pattern) {
      if (cannot_stand(c) || absl::StrContains("*?[]", c)) c = '?';
    }
  }
  return absl::StrCat("\"", pattern, "\"");
}

}  // namespace

std::string SearchLine(const SearchReport& report) {
  if (report.choices.empty()) return "search: nothing was converted";
  const VerifiedChoice& taken = report.choice();
  std::string line = absl::StrFormat("search: %d of %d part%s stay float32: %s %.3g of at most %.3g",
                                     report.kept.size(), report.num_parts, report.num_parts == 1 ? "" : "s",
                                     ErrorWord(report), taken.error, report.max_error);
  if (report.baseline.has_value()) absl::StrAppendFormat(&line, " from %.6g", *report.baseline);
  if (taken.held_out.has_value()) {
    absl::StrAppendFormat(&line, ", %.3g on %d sample%s held out", *taken.held_out, report.held_out_samples,
                          report.held_out_samples == 1 ? "" : "s");
  }
  if (report.all_saved_bytes > 0) {
    absl::StrAppendFormat(&line, "; %.0f %% of the bytes that all low saves", kPercent * SavedShare(report, taken));
  }
  absl::StrAppendFormat(&line, "; %d run%s", report.runs, report.runs == 1 ? "" : "s");
  if (report.not_run > 0) absl::StrAppendFormat(&line, "; %d that no sample has run stay float32", report.not_run);
  return line;
}

std::string SearchList(const SearchReport& report) {
  std::string text = "# Operator list: nodes that stay float32, found by --search";
  if (report.choices.empty()) return absl::StrCat(text, "; nothing was converted\n");
  absl::StrAppendFormat(&text, "; %s %.3g of at most %.3g\n", ErrorWord(report), report.choice().error,
                        report.max_error);
  const auto add = [&](const std::string& heading, const std::vector<std::string>& nodes) {
    absl::StrAppend(&text, "# ", heading, "\n");
    for (const std::string& node : nodes) absl::StrAppend(&text, "node ", Quoted(node), " deny\n");
  };
  for (const KeptPart& part : report.kept) {
    add(absl::StrFormat("part %s: %.1f %% of the squared error", Escaped(part.name), kPercent * part.share),
        part.nodes);
  }
  if (!report.guarded.empty()) add("kept by guards, by ranges that the samples showed among them", report.guarded);
  return text;
}

std::string SearchFront(const SearchReport& report) {
  constexpr double kWidth = 40;
  std::vector<const VerifiedChoice*> front;
  for (const VerifiedChoice& choice : report.choices) {
    if (choice.is_on_front) front.push_back(&choice);
  }
  if (front.size() < 2 || report.all_saved_bytes <= 0) return "";
  std::stable_sort(front.begin(), front.end(),
                   [](const VerifiedChoice* a, const VerifiedChoice* b) { return a->saved_bytes > b->saved_bytes; });
  std::string text = absl::StrFormat("  saved  %8s  float32\n", report.metric == kOwnMetric ? "drop" : "error");
  for (const VerifiedChoice* choice : front) {
    const double share = std::clamp(SavedShare(report, *choice), 0.0, 1.0);
    const std::string bar(static_cast<size_t>(share * kWidth), '#');
    absl::StrAppendFormat(&text, "  %3.0f %%  %8.3g  %7d  %s%s\n", kPercent * share, choice->error,
                          choice->float32.size(), bar,
                          choice == &report.choice() ? std::string(bar.empty() ? 0 : 1, ' ') + "taken" : "");
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
  json.Value("metric", report.metric);
  if (report.baseline.has_value()) json.Value("baseline", *report.baseline);
  json.Value("max_error", report.max_error);
  json.Value("samples", report.samples);
  json.Value("held_out_samples", report.held_out_samples);
  json.Value("runs", report.runs);
  json.Value("parts", report.num_parts);
  json.Value("all_saved_bytes", report.all_saved_bytes);
  json.Value("not_run", report.not_run);
  if (report.choices.empty()) {
    json.Value("taken", nullptr);
  } else {
    json.Value("taken", report.taken);
  }
  json.ListOf("guarded", report.guarded);
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
