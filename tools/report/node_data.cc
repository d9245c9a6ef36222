#include "tools/report/node_data.h"

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "passes/report/json_text.h"

namespace amp {
namespace {

struct Colours {
  const char* background;
  const char* text;
};
constexpr Colours kLow = {"#dce9fd", "#0b3d91"}, kHigh = {"#fde9d0", "#7a3a05"}, kOther = {"#eceff2", "#3d4650"};

Colours ColoursOf(const NodeReport& node) {
  if (node.is_low) return kLow;
  return node.type == DTypeName(DType::kFloat32) ? kHigh : kOther;
}

void AddResults(JsonText& json, const Report& report) {
  if (!report.graph.has_value()) return;
  absl::flat_hash_set<absl::string_view> seen;
  for (size_t i = 0; i < report.nodes.size(); ++i) {
    const NodeReport& node = report.nodes[i];
    const absl::string_view output = report.graph->first_outputs[i];
    if (output.empty() || !seen.insert(output).second) continue;
    const Colours colours = ColoursOf(node);
    json.Key(output);
    json.Open('{');
    const bool has_type = node.type != "-";
    json.Value("value", absl::StrCat(has_type ? node.type : "no float", ": ", node.reason_kind));
    json.Value("bgColor", colours.background);
    json.Value("textColor", colours.text);
    json.Close('}');
  }
}

}  // namespace

std::string NodeDataJson(const Report& report) {
  JsonText json;
  json.Open('{');
  json.Value("name", absl::StrCat("amp-rewrite: ", DTypeName(report.low)));
  json.Key("results");
  json.Open('{');
  AddResults(json, report);
  json.Close('}');
  json.Value("showExpandedSummaryOnGroupNode", true);
  json.Close('}');
  return json.Take() + "\n";
}

}  // namespace amp
