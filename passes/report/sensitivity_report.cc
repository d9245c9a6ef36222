#include "passes/report/sensitivity_report.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "ir/base/status.h"
#include "passes/report/json_text.h"
#include "passes/report/report.h"

namespace amp {
namespace {

// A cell of CSV, as RFC 4180 has it.
std::string CsvText(const std::string& text) {
  const bool is_plain = text.find_first_of(",\"\r\n") == std::string::npos;
  return is_plain ? text : absl::StrCat("\"", absl::StrReplaceAll(text, {{"\"", "\"\""}}), "\"");
}

// "1.2 G"
std::string CountText(double count) {
  if (count >= 1e9) return absl::StrFormat("%.1f G", count / 1e9);
  if (count >= 1e6) return absl::StrFormat("%.1f M", count / 1e6);
  return absl::StrFormat("%.0f", count);
}

const char* PredictedBy(const UnitSensitivity& unit) { return unit.by_derivatives ? "derivatives" : "gains"; }

}  // namespace

std::string SensitivityText(const SensitivityReport& report) {
  std::string text = absl::StrFormat(
      "%d unit%s of nodes that become low; all of them low: relative error %.3g on %d sample%s\n", report.units.size(),
      report.units.size() == 1 ? "" : "s", report.measured, report.samples, report.samples == 1 ? "" : "s");
  if (report.units.empty()) return text;
  const auto by_gains = std::count_if(report.units.begin(), report.units.end(),
                                      [](const UnitSensitivity& unit) { return !unit.by_derivatives; });
  if (by_gains > 0) {
    absl::StrAppendFormat(&text, "%d unit%s predicted by gains of nodes, which know less than derivatives: %s\n",
                          by_gains, by_gains == 1 ? " is" : "s are", report.why_gains);
  }
  const bool has_measured = std::any_of(report.units.begin(), report.units.end(),
                                        [](const UnitSensitivity& unit) { return unit.measured.has_value(); });
  absl::StrAppend(&text, "error alone   ", has_measured ? "measured    " : "",
                  "share   nodes  casts  weights     MACs      unit\n");
  for (const UnitSensitivity& unit : report.units) {
    absl::StrAppendFormat(&text, "%-12.3g  ", unit.predicted);
    if (has_measured) {
      text += unit.measured.has_value() ? absl::StrFormat("%-10.3g  ", *unit.measured) : std::string(12, ' ');
    }
    absl::StrAppendFormat(&text, "%5.1f%%  %5d  %5d  %-10s  %-8s  %s%s\n", 100 * unit.share, unit.nodes.size(),
                          unit.casts, ByteText(unit.weight_bytes), CountText(unit.macs), Escaped(unit.name),
                          unit.overflows ? " (overflows)" : "");
  }
  return text;
}

std::string SensitivityCsv(const SensitivityReport& report) {
  std::string text = "unit,nodes,predicted_error,measured_error,share,weight_bytes,macs,casts,overflows,predicted_by\n";
  for (const UnitSensitivity& unit : report.units) {
    const std::string measured = unit.measured.has_value() ? absl::StrFormat("%.17g", *unit.measured) : "";
    absl::StrAppendFormat(&text, "%s,%d,%.17g,%s,%.17g,%d,%.17g,%d,%d,%s\n", CsvText(unit.name), unit.nodes.size(),
                          unit.predicted, measured, unit.share, unit.weight_bytes, unit.macs, unit.casts,
                          unit.overflows ? 1 : 0, PredictedBy(unit));
  }
  return text;
}

void AddSensitivity(JsonText& json, const SensitivityReport& report) {
  json.Key("sensitivity");
  json.Open('{');
  json.Value("samples", report.samples);
  AddNumber(json, "measured_error", report.measured);
  json.Value("unscaled_prediction", report.predicted);
  if (!report.why_gains.empty()) json.Value("why_gains", report.why_gains);
  json.Key("units");
  json.Open('[');
  for (const UnitSensitivity& unit : report.units) {
    json.Open('{');
    json.Value("unit", unit.name);
    json.ListOf("nodes", unit.nodes);
    AddNumber(json, "predicted_error", unit.predicted);
    if (unit.measured.has_value()) {
      AddNumber(json, "measured_error", *unit.measured);
    } else {
      json.Value("measured_error", nullptr);
    }
    json.Value("share", unit.share);
    json.Value("weight_bytes", unit.weight_bytes);
    json.Value("macs", unit.macs);
    json.Value("casts", unit.casts);
    json.Value("overflows", unit.overflows);
    json.Value("predicted_by", PredictedBy(unit));
    json.Close('}');
  }
  json.Close(']');
  json.Close('}');
}

}  // namespace amp
