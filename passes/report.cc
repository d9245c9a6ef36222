#include "passes/report.h"

#include <algorithm>
#include <map>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "ir/status.h"
#include "nlohmann/json.hpp"

namespace amp {
namespace {

using Json = nlohmann::ordered_json;

std::string TypeName(DType type) { return std::string(DTypeName(type)); }

std::string Megabytes(int64_t bytes) {
  if (bytes < 1000) return absl::StrFormat("%d B", bytes);
  if (bytes < 1000 * 1000) return absl::StrFormat("%.1f kB", static_cast<double>(bytes) / 1e3);
  return absl::StrFormat("%.1f MB", static_cast<double>(bytes) / 1e6);
}

// A number that JSON can hold: infinities and NaN become text.
Json Number(double value) {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

std::map<std::string, int> CountByReason(const Report& report) {
  std::map<std::string, int> counts;
  for (const NodeReport& node : report.nodes) ++counts[node.reason_kind];
  return counts;
}

Json NodeJson(const NodeReport& node) {
  Json json = {{"path", node.path},
               {"operator", node.op_type},
               {"class", std::string(OpClassName(node.op_class))},
               {"class_origin", node.class_origin},
               {"class_why", node.class_why},
               {"low", node.is_low},
               {"heavy", node.is_heavy},
               {"reason", node.reason_kind},
               {"because", node.reason},
               {"casts", node.num_casts}};
  return json;
}

Json CastJson(const CastReport& cast) {
  Json json = {{"name", cast.name},
               {"value", cast.value},
               {"from", TypeName(cast.from)},
               {"to", TypeName(cast.to)},
               {"readers", cast.readers}};
  json["elements"] = cast.num_elements < 0 ? Json(nullptr) : Json(cast.num_elements);
  return json;
}

Json WeightJson(const NarrowedWeight& weight) {
  return {{"name", weight.name},
          {"bytes_before", weight.bytes_before},
          {"bytes_after", weight.bytes_after},
          {"original_stays", weight.original_stays},
          {"original_readers", weight.original_readers},
          {"saturated", weight.saturated},
          {"largest", Number(weight.stats.largest)},
          {"overflow", weight.stats.overflow},
          {"underflow", weight.stats.underflow},
          {"subnormal", weight.stats.subnormal},
          {"relative_error", Number(weight.relative_error)}};
}

std::vector<std::string> AllAdvice(const Report& report) {
  std::vector<std::string> all = report.advice;
  all.insert(all.end(), report.hints.begin(), report.hints.end());
  return all;
}

std::string EscapedList(const std::vector<std::string>& names) {
  return absl::StrJoin(names, ", ", [](std::string* out, const std::string& name) { out->append(Escaped(name)); });
}

std::string Padded(absl::string_view text, size_t width) {
  return absl::StrCat(text, std::string(text.size() < width ? width - text.size() : 0, ' '));
}

}  // namespace

int Report::NumLow() const {
  return static_cast<int>(
      std::count_if(nodes.begin(), nodes.end(), [](const NodeReport& node) { return node.is_low; }));
}

std::string WeightsLine(const Report& report) {
  return absl::StrCat("weights ", Megabytes(report.weight_bytes_before), " -> ", Megabytes(report.weight_bytes_after));
}

std::string SummaryLine(const Report& report) {
  return absl::StrFormat("Converted %d of %d nodes to %s with %d cast%s; %s", report.NumLow(), report.nodes.size(),
                         TypeName(report.low), report.casts.size(), report.casts.size() == 1 ? "" : "s",
                         WeightsLine(report));
}

std::string ReportJson(const Report& report) {
  Json json = {{"schema_version", Report::kSchemaVersion},
               {"model", report.model},
               {"dtype", TypeName(report.low)},
               {"profile", report.profile},
               {"target", report.target},
               {"changed", report.changed},
               {"unchanged_because", report.unchanged_because},
               {"opset", {{"before", report.opset_before}, {"after", report.opset_after}}},
               {"ir_version", {{"before", report.ir_version_before}, {"after", report.ir_version_after}}}};
  json["totals"] = {{"nodes", report.nodes.size()},
                    {"low", report.NumLow()},
                    {"casts", report.casts.size()},
                    {"by_reason", CountByReason(report)},
                    {"weight_bytes", {{"before", report.weight_bytes_before}, {"after", report.weight_bytes_after}}},
                    {"known_activation_bytes",
                     {{"before", report.activation_bytes_before}, {"after", report.activation_bytes_after}}}};
  json["nodes"] = Json::array();
  for (const NodeReport& node : report.nodes) json["nodes"].push_back(NodeJson(node));
  json["casts"] = Json::array();
  for (const CastReport& cast : report.casts) json["casts"].push_back(CastJson(cast));
  json["weights"] = Json::array();
  for (const NarrowedWeight& weight : report.weights) json["weights"].push_back(WeightJson(weight));
  json["removed_casts"] = report.removed_casts;
  json["functions"] = {{"inlined_calls", report.inlined_calls},
                       {"inlined", report.inlined_functions},
                       {"specialised_calls", report.specialised_calls},
                       {"specialised", report.specialised_functions},
                       {"original_calls", report.original_calls}};
  json["advice"] = AllAdvice(report);
  json["warnings"] = report.warnings;
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string ReportText(const Report& report) {
  const std::string low = TypeName(report.low);
  size_t path_width = 4, op_width = 8;
  for (const NodeReport& node : report.nodes) {
    path_width = std::clamp(Escaped(node.path).size(), path_width, size_t{40});
    op_width = std::clamp(node.op_type.size(), op_width, size_t{22});
  }
  const size_t type_width = std::max<size_t>(low.size(), 7);
  std::string text = absl::StrCat(Padded("node", path_width), "  ", Padded("operator", op_width), "  class     ",
                                  Padded("type", type_width), "  why\n");
  for (const NodeReport& node : report.nodes) {
    const bool is_other = node.reason_kind == ReasonName(ReasonKind::kNotFloat32);
    absl::StrAppend(&text, Padded(Escaped(node.path), path_width), "  ", Padded(Escaped(node.op_type), op_width), "  ",
                    Padded(OpClassName(node.op_class), 8), "  ",
                    Padded(node.is_low ? low
                           : is_other  ? "-"
                                       : "float32",
                           type_width),
                    "  ", node.reason, "\n");
  }
  if (!report.casts.empty()) text += "\ncasts\n";
  for (const CastReport& cast : report.casts) {
    absl::StrAppendFormat(&text, "  %s  %s -> %s  for %s", Escaped(cast.value), TypeName(cast.from), TypeName(cast.to),
                          EscapedList(cast.readers));
    if (cast.num_elements >= 0) absl::StrAppendFormat(&text, "  (%d elements)", cast.num_elements);
    text += "\n";
  }
  if (!report.weights.empty()) text += "\nweights\n";
  for (const NarrowedWeight& weight : report.weights) {
    absl::StrAppendFormat(&text, "  %s  %s -> %s  largest %.4g, relative error %.2g", Escaped(weight.name),
                          Megabytes(weight.bytes_before), Megabytes(weight.bytes_after), weight.stats.largest,
                          weight.relative_error);
    if (weight.stats.overflow > 0) {
      absl::StrAppendFormat(&text, ", %d overflow%s", weight.stats.overflow, weight.saturated ? " (saturated)" : "");
    }
    if (weight.stats.underflow > 0) absl::StrAppendFormat(&text, ", %d vanish", weight.stats.underflow);
    if (weight.stats.subnormal > 0) absl::StrAppendFormat(&text, ", %d subnormal", weight.stats.subnormal);
    if (weight.original_stays)
      absl::StrAppend(&text, ", float32 original stays for ", EscapedList(weight.original_readers));
    text += "\n";
  }
  text += "\nnodes by reason\n";
  for (const auto& [reason, count] : CountByReason(report)) absl::StrAppendFormat(&text, "  %-16s %d\n", reason, count);
  if (report.inlined_calls > 0) {
    absl::StrAppendFormat(&text, "inlined: %d call%s of %s\n", report.inlined_calls,
                          report.inlined_calls == 1 ? "" : "s", EscapedList(report.inlined_functions));
  }
  if (report.specialised_calls + report.original_calls > 0) {
    std::vector<std::string> functions;
    for (const std::string& name : report.specialised_functions) functions.push_back(Escaped(name));
    absl::StrAppendFormat(&text, "specialised: %d call%s of %s; %d back to the original function\n",
                          report.specialised_calls, report.specialised_calls == 1 ? "" : "s",
                          absl::StrJoin(functions, ", "), report.original_calls);
  }
  for (const std::string& advice : AllAdvice(report)) absl::StrAppend(&text, "advice: ", advice, "\n");
  return text;
}

}  // namespace amp
