#include "passes/report/report.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "ir/base/status.h"
#include "passes/report/json_text.h"

namespace amp {
namespace {

std::string TypeName(DType type) { return std::string(DTypeName(type)); }

std::map<std::string, int> CountByReason(const Report& report) {
  std::map<std::string, int> counts;
  for (const NodeReport& node : report.nodes) ++counts[node.reason_kind];
  return counts;
}

void AddTextOrNull(JsonText& json, absl::string_view key, const std::string& text) {
  if (text.empty()) return json.Value(key, nullptr);
  json.Value(key, text);
}

void AddNode(JsonText& json, const NodeReport& node) {
  json.Open('{');
  json.Value("path", node.path);
  json.Value("operator", node.op_type);
  json.Value("class", node.class_name);
  json.Value("class_origin", node.class_origin);
  json.Value("class_why", node.class_why);
  json.Value("low", node.is_low);
  json.Value("heavy", node.is_heavy);
  json.Value("reason", node.reason_kind);
  json.Value("because", node.reason);
  json.Value("casts", node.num_casts);
  json.Close('}');
}

void AddReplaced(JsonText& json, const ReplacedReport& replaced) {
  json.Open('{');
  json.ListOf("nodes", replaced.nodes);
  json.Value("how", replaced.how);
  json.Close('}');
}

void AddCast(JsonText& json, const CastReport& cast) {
  json.Open('{');
  json.Value("name", cast.name);
  json.Value("value", cast.value);
  json.Value("from", TypeName(cast.from));
  json.Value("to", TypeName(cast.to));
  json.ListOf("readers", cast.readers);
  if (cast.num_elements < 0) {
    json.Value("elements", nullptr);
  } else {
    json.Value("elements", cast.num_elements);
  }
  json.Close('}');
}

void AddWeight(JsonText& json, const NarrowedWeight& weight) {
  json.Open('{');
  json.Value("name", weight.name);
  json.Value("bytes_before", weight.bytes_before);
  json.Value("bytes_after", weight.bytes_after);
  json.Value("original_stays", weight.original_stays);
  json.ListOf("original_readers", weight.original_readers);
  json.Value("saturated", weight.saturated);
  AddNumber(json, "largest", weight.stats.largest);
  json.Value("overflow", weight.stats.overflow);
  json.Value("underflow", weight.stats.underflow);
  json.Value("subnormal", weight.stats.subnormal);
  AddNumber(json, "relative_error", weight.relative_error);
  json.Close('}');
}

template <typename T>
void AddBeforeAndAfter(JsonText& json, absl::string_view key, T before, T after) {
  json.Key(key);
  json.Open('{');
  json.Value("before", before);
  json.Value("after", after);
  json.Close('}');
}

template <typename T>
void AddEach(JsonText& json, absl::string_view key, const std::vector<T>& items, void (*add)(JsonText&, const T&)) {
  json.Key(key);
  json.Open('[');
  for (const T& item : items) add(json, item);
  json.Close(']');
}

void AddTool(JsonText& json, const Report& report) {
  json.Key("tool");
  json.Open('{');
  json.Value("name", "amp-rewrite");
  json.Value("version", report.tool_version);
  json.ListOf("flags", report.flags);
  json.Close('}');
}

void AddTotals(JsonText& json, const Report& report) {
  json.Key("totals");
  json.Open('{');
  json.Value("nodes", report.nodes.size());
  json.Value("low", report.NumLow());
  json.Value("casts", report.casts.size());
  json.Key("by_reason");
  json.Open('{');
  for (const auto& [reason, count] : CountByReason(report)) json.Value(reason, count);
  json.Close('}');
  AddBeforeAndAfter(json, "weight_bytes", report.weight_bytes_before, report.weight_bytes_after);
  AddBeforeAndAfter(json, "known_activation_bytes", report.activation_bytes_before, report.activation_bytes_after);
  json.Close('}');
}

void AddFunctions(JsonText& json, const Report& report) {
  json.Key("functions");
  json.Open('{');
  json.Value("inlined_calls", report.inlined_calls);
  json.ListOf("inlined", report.inlined_functions);
  json.Value("specialised_calls", report.specialised_calls);
  json.ListOf("specialised", report.specialised_functions);
  json.Value("original_calls", report.original_calls);
  json.Close('}');
}

std::string EscapedList(const std::vector<std::string>& names) {
  return absl::StrJoin(names, ", ", [](std::string* out, const std::string& name) { out->append(Escaped(name)); });
}

// Columns on a terminal: bytes that begin a character.
size_t Width(absl::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

// Cells side by side, on one line, so that a search for a name finds all that is said of it. One that is wider than its
// column moves the next ones to the right until there is room again.
std::string TableRow(absl::Span<const std::string> cells, absl::Span<const size_t> widths) {
  constexpr size_t kGap = 2;
  std::string text;
  size_t column = 0, used = 0;
  for (size_t i = 0; i + 1 < cells.size(); ++i) {
    column += widths[i] + kGap;
    used += Width(cells[i]);
    const size_t spaces = used + kGap <= column ? column - used : kGap;
    absl::StrAppend(&text, cells[i], std::string(spaces, ' '));
    used += spaces;
  }
  return absl::StrCat(text, cells.back(), "\n");
}

// Constants and casts are what their readers are.
bool IsFloat32OfItsOwn(const NodeReport& node) {
  return node.type == TypeName(DType::kFloat32) && node.class_name != "constant" && node.class_name != "cast";
}

std::string NodeTable(const Report& report, Shown shown) {
  if (report.nodes.empty()) return "";
  constexpr size_t kWidestPath = 48, kWidestOperator = 24;
  std::vector<size_t> widths = {Width("node"), Width("operator"), Width("unlisted"), Width("float32")};
  widths[3] = std::max(widths[3], Width(TypeName(report.low)));
  for (const NodeReport& node : report.nodes) {
    widths[0] = std::max(widths[0], std::min(Width(Escaped(node.path)), kWidestPath));
    widths[1] = std::max(widths[1], std::min(Width(Escaped(node.op_type)), kWidestOperator));
  }
  std::string text = TableRow({"node", "operator", "class", "type", "why"}, widths);
  for (const NodeReport& node : report.nodes) {
    if (shown == Shown::kFloat32 && !IsFloat32OfItsOwn(node)) continue;
    text += TableRow({Escaped(node.path), Escaped(node.op_type), node.class_name, node.type, node.reason}, widths);
  }
  return text;
}

void AppendNames(absl::string_view heading, const std::vector<std::string>& names, std::string& text) {
  if (!names.empty()) absl::StrAppend(&text, "\n", heading, "\n");
  for (const std::string& name : names) absl::StrAppend(&text, "  ", Escaped(name), "\n");
}

// "opset 11 -> 15", "IR version 6 -> 8": what was raised.
std::vector<std::string> Lifts(const Report& report) {
  std::vector<std::string> lifts;
  const auto add = [&](absl::string_view what, int before, int after) {
    if (before != after) lifts.push_back(absl::StrCat(what, " ", before, " -> ", after));
  };
  add("opset", report.opset_before, report.opset_after);
  add("IR version", report.ir_version_before, report.ir_version_after);
  return lifts;
}

// "2 calls of F_low, G_low; 1 back to the original function"
std::string SpecialisedText(const Report& report) {
  const int calls = report.specialised_calls;
  std::string made = calls == 0 ? "no call"
                                : absl::StrCat(calls, calls == 1 ? " call of " : " calls of ",
                                               EscapedList(report.specialised_functions));
  if (report.original_calls == 0) return made;
  return absl::StrCat(made, "; ", report.original_calls, " back to the original function");
}

// A clause on casts at run time that a flag would spare; "" if they are few beside the others.
std::string OverridableClause(const Report& report) {
  constexpr size_t kFew = 10;  // one of so many
  const size_t count = report.num_casts_of_overridable;
  if (count == 0 || count * kFew < report.casts.size()) return "";
  return absl::StrCat("; ", count, count == 1 ? " cast converts a weight that" : " casts convert weights that",
                      " callers may override: --freeze-initializers makes ",
                      count == 1 ? "it a constant" : "them constants");
}

// Its elements' relative error is no number then.
bool HasNan(const NarrowedWeight& weight) { return std::isnan(weight.relative_error); }

// "; weight 'w' has NaN among its elements", of the first one that has; "" for none.
std::string NanClause(const Report& report) {
  const auto first = std::find_if(report.weights.begin(), report.weights.end(), HasNan);
  if (first == report.weights.end()) return "";
  const auto others = std::count_if(first + 1, report.weights.end(), HasNan);
  return absl::StrCat("; weight '", Escaped(first->name), "' has NaN among its elements",
                      others == 0 ? "" : absl::StrCat(", and so have ", others, " more"));
}

// Summarises nodes, casts and weights.
std::string EditsText(const Report& report) {
  std::string text;
  if (!report.replaced.empty()) text += "\nreplaced\n";
  for (const ReplacedReport& replaced : report.replaced) {
    absl::StrAppend(&text, "  ", EscapedList(replaced.nodes), ": ", Escaped(replaced.how), "\n");
  }
  if (!report.casts.empty()) text += "\ncasts\n";
  for (const CastReport& cast : report.casts) {
    absl::StrAppendFormat(&text, "  %s  %s -> %s  for %s", Escaped(cast.value), TypeName(cast.from), TypeName(cast.to),
                          EscapedList(cast.readers));
    if (cast.num_elements >= 0) absl::StrAppendFormat(&text, "  (%d elements)", cast.num_elements);
    text += '\n';
  }
  if (!report.weights.empty()) text += "\nweights\n";
  for (const NarrowedWeight& weight : report.weights) {
    absl::StrAppendFormat(&text, "  %s  %s -> %s  largest %.4g, relative error %.2g", Escaped(weight.name),
                          ByteText(weight.bytes_before), ByteText(weight.bytes_after), weight.stats.largest,
                          weight.relative_error);
    if (HasNan(weight)) text += " (some elements are NaN)";
    if (weight.stats.overflow > 0) {
      absl::StrAppendFormat(&text, ", %d overflow%s", weight.stats.overflow, weight.saturated ? " (saturated)" : "");
    }
    if (weight.stats.underflow > 0) absl::StrAppendFormat(&text, ", %d vanish", weight.stats.underflow);
    if (weight.stats.subnormal > 0) absl::StrAppendFormat(&text, ", %d subnormal", weight.stats.subnormal);
    if (weight.original_stays)
      absl::StrAppend(&text, ", float32 original stays for ", EscapedList(weight.original_readers));
    text += '\n';
  }
  AppendNames("casts removed", report.removed_casts, text);
  AppendNames("weights widened", report.widened_weights, text);
  return text;
}

}  // namespace

std::string ByteText(int64_t bytes) {
  if (bytes < 1000) return absl::StrFormat("%d B", bytes);
  if (bytes < 1000 * 1000) return absl::StrFormat("%.1f kB", static_cast<double>(bytes) / 1e3);
  return absl::StrFormat("%.1f MB", static_cast<double>(bytes) / 1e6);
}

int Report::NumLow() const {
  return static_cast<int>(
      std::count_if(nodes.begin(), nodes.end(), [](const NodeReport& node) { return node.is_low; }));
}

std::vector<std::string> Report::AllAdvice() const {
  std::vector<std::string> all = advice;
  all.insert(all.end(), hints.begin(), hints.end());
  return all;
}

std::string WeightsLine(const Report& report) {
  return absl::StrCat("weights ", ByteText(report.weight_bytes_before), " -> ", ByteText(report.weight_bytes_after));
}

std::string SummaryLine(const Report& report) {
  std::string line = absl::StrFormat("Converted %d of %d nodes to %s with %d cast%s; %s", report.NumLow(),
                                     report.nodes.size(), TypeName(report.low), report.casts.size(),
                                     report.casts.size() == 1 ? "" : "s", WeightsLine(report));
  for (const std::string& lift : Lifts(report)) absl::StrAppend(&line, "; ", lift);
  return line + OverridableClause(report) + NanClause(report);
}

std::string ReportJson(const Report& report) {
  JsonText json;
  json.Open('{');
  json.Value("schema_version", Report::kSchemaVersion);
  AddTool(json, report);
  json.Value("model", report.model);
  AddTextOrNull(json, "output_xxh3", report.output_xxh3);
  json.Value("dtype", TypeName(report.low));
  json.Value("profile", report.profile);
  json.Value("placement", report.placement);
  json.Value("target", report.target);
  json.Value("changed", report.changed);
  json.Value("unchanged_because", report.unchanged_because);
  AddBeforeAndAfter(json, "opset", report.opset_before, report.opset_after);
  AddBeforeAndAfter(json, "ir_version", report.ir_version_before, report.ir_version_after);
  AddTotals(json, report);
  AddEach(json, "nodes", report.nodes, AddNode);
  AddEach(json, "replaced", report.replaced, AddReplaced);
  AddEach(json, "casts", report.casts, AddCast);
  AddEach(json, "weights", report.weights, AddWeight);
  json.ListOf("removed_casts", report.removed_casts);
  json.ListOf("widened_weights", report.widened_weights);
  AddFunctions(json, report);
  json.ListOf("advice", report.AllAdvice());
  AddTextOrNull(json, "verification", report.verification);
  if (report.sensitivity.has_value()) AddSensitivity(json, *report.sensitivity);
  if (report.search.has_value()) AddSearch(json, *report.search);
  json.ListOf("warnings", report.warnings);
  json.Close('}');
  return json.Take() + "\n";
}

std::string ReportText(const Report& report, Shown shown) {
  std::string text = NodeTable(report, shown);
  if (shown == Shown::kAll) text += EditsText(report);
  if (!report.nodes.empty()) text += "\nnodes by reason\n";
  for (const auto& [reason, count] : CountByReason(report)) absl::StrAppendFormat(&text, "  %-16s %d\n", reason, count);
  for (const std::string& lift : Lifts(report)) absl::StrAppend(&text, "raised: ", lift, "\n");
  if (report.inlined_calls > 0) {
    absl::StrAppendFormat(&text, "inlined: %d call%s of %s\n", report.inlined_calls,
                          report.inlined_calls == 1 ? "" : "s", EscapedList(report.inlined_functions));
  }
  if (report.specialised_calls + report.original_calls > 0) {
    absl::StrAppend(&text, "specialised: ", SpecialisedText(report), "\n");
  }
  for (const std::string& advice : report.AllAdvice()) absl::StrAppend(&text, "advice: ", advice, "\n");
  return text;
}

}  // namespace amp
