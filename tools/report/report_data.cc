#include "tools/report/report_data.h"

#include <cmath>
#include <cstdint>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/types/span.h"
#include "nlohmann/json.hpp"

namespace amp {
namespace {

constexpr int kFormat = 1;

// Strings by number; each is there once. What they point to must outlive this.
class Strings {
 public:
  explicit Strings(size_t expected) { numbers_.reserve(expected); }
  size_t Of(absl::string_view text) {
    const auto [it, is_new] = numbers_.try_emplace(text, order_.size());
    if (is_new) order_.push_back(text);
    return it->second;
  }
  const std::vector<absl::string_view>& order() const { return order_; }

 private:
  absl::flat_hash_map<absl::string_view, size_t> numbers_;
  std::vector<absl::string_view> order_;
};

// Whether text stands in JSON and in a script element as it is.
bool IsPlain(absl::string_view text) {
  return absl::c_all_of(text, [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\' && c != '<'; });
}

void AppendString(std::string& to, absl::string_view text) {
  if (!IsPlain(text)) {
    to += ScriptSafeString(text);
    return;
  }
  absl::StrAppend(&to, "\"", text, "\"");
}

// A number as JSON; text where it is none.
std::string Number(double value) {
  if (std::isfinite(value)) return absl::StrCat(value);
  return std::isnan(value) ? "\"nan\"" : value > 0 ? "\"inf\"" : "\"-inf\"";
}

// Appends "[a,b,c]" of what `each` appends for every item.
template <typename List, typename Each>
void AppendList(std::string& text, const List& list, Each each) {
  text += '[';
  const char* separator = "";
  for (const auto& item : list) {
    text += separator;
    each(item);
    separator = ",";
  }
  text += ']';
}

class DataWriter {
 public:
  explicit DataWriter(const Report& report) : report_(report), strings_(kStringsPerNode * report.nodes.size()) {}

  std::string Write() {
    text_.reserve(kBytesPerNode * report_.nodes.size());
    absl::StrAppend(&text_, "{\"format\":", kFormat, ",\"schema_version\":", Report::kSchemaVersion);
    AddHead();
    AddNodes();
    if (report_.graph.has_value()) AddValues(*report_.graph);
    AddCasts();
    AddWeights();
    AddParts();
    // Last, as all of the above use them.
    Key("strings");
    AppendList(text_, strings_.order(), [&](absl::string_view string) { AppendString(text_, string); });
    return std::move(text_) + "}";
  }

 private:
  // About as many as models have: growing costs time, no more.
  static constexpr size_t kStringsPerNode = 3, kBytesPerNode = 256;

  void Key(absl::string_view key) { absl::StrAppend(&text_, ",\"", key, "\":"); }
  void Text(absl::string_view key, absl::string_view value) {
    Key(key);
    text_ += ScriptSafeString(value);
  }
  void Texts(absl::string_view key, const std::vector<std::string>& values) {
    Key(key);
    AppendList(text_, values, [&](const std::string& value) { text_ += ScriptSafeString(value); });
  }
  void BeforeAndAfter(absl::string_view key, int64_t before, int64_t after) {
    Key(key);
    absl::StrAppend(&text_, "[", before, ",", after, "]");
  }
  void Numbers(absl::Span<const uint32_t> numbers) {
    AppendList(text_, numbers, [&](uint32_t number) { absl::StrAppend(&text_, number); });
  }
  void Lists(absl::string_view name, const PackedLists<uint32_t>& lists) {
    Key(name);
    AppendList(text_, lists, [&](absl::Span<const uint32_t> list) { Numbers(list); });
  }
  void AddString(absl::string_view string) { absl::StrAppend(&text_, strings_.Of(string)); }

  void AddHead() {
    Text("version", report_.tool_version);
    Texts("flags", report_.flags);
    Text("model", report_.model);
    Text("input_xxh3", report_.input_xxh3);
    Text("output_xxh3", report_.output_xxh3);
    Text("dtype", DTypeName(report_.low));
    Text("profile", report_.profile);
    Text("placement", report_.placement);
    Text("target", report_.target);
    Key("changed");
    text_ += report_.changed ? "true" : "false";
    Text("unchanged_because", report_.unchanged_because);
    Text("verification", report_.verification);
    BeforeAndAfter("opset", report_.opset_before, report_.opset_after);
    BeforeAndAfter("ir_version", report_.ir_version_before, report_.ir_version_after);
    BeforeAndAfter("weight_bytes", report_.weight_bytes_before, report_.weight_bytes_after);
    BeforeAndAfter("activation_bytes", report_.activation_bytes_before, report_.activation_bytes_after);
    Texts("warnings", report_.warnings);
    Texts("advice", report_.AllAdvice());
    Texts("removed_casts", report_.removed_casts);
    Texts("widened_weights", report_.widened_weights);
    Key("replaced");
    AppendList(text_, report_.replaced, [&](const ReplacedReport& replaced) {
      text_ += '[';
      AppendList(text_, replaced.nodes, [&](const std::string& node) { AddString(node); });
      absl::StrAppend(&text_, ",", strings_.Of(replaced.how), "]");
    });
  }

  template <typename Each>
  void NodeColumn(absl::string_view name, Each each) {
    Key(name);
    AppendList(text_, report_.nodes, each);
  }
  void NodeStrings(absl::string_view name, std::string NodeReport::*member) {
    NodeColumn(name, [&](const NodeReport& node) { AddString(node.*member); });
  }

  void AddNodes() {
    Key("nodes");
    absl::StrAppend(&text_, "{\"count\":", report_.nodes.size());
    NodeStrings("path", &NodeReport::path);
    NodeStrings("operator", &NodeReport::op_type);
    NodeStrings("class", &NodeReport::class_name);
    NodeStrings("origin", &NodeReport::class_origin);
    NodeStrings("why", &NodeReport::class_why);
    NodeStrings("type", &NodeReport::type);
    NodeStrings("reason", &NodeReport::reason_kind);
    NodeStrings("because", &NodeReport::reason);
    NodeColumn("low", [&](const NodeReport& node) { text_ += node.is_low ? '1' : '0'; });
    NodeColumn("heavy", [&](const NodeReport& node) { text_ += node.is_heavy ? '1' : '0'; });
    if (report_.graph.has_value()) {
      const ReportGraph& graph = *report_.graph;
      Lists("inputs", graph.node_inputs);
      Lists("outputs", graph.node_outputs);
      Key("bodies");  // of few nodes: [node, inputs, outputs]
      AppendList(text_, graph.bodies, [&](const ReportGraph::Bodies& bodies) {
        absl::StrAppend(&text_, "[", bodies.node, ",");
        Numbers(bodies.inputs);
        text_ += ',';
        Numbers(bodies.outputs);
        text_ += ']';
      });
    }
    text_ += '}';
  }

  void AddValues(const ReportGraph& graph) {
    const auto column = [&](absl::string_view name, auto each) {
      Key(name);
      AppendList(text_, graph.values, each);
    };
    Key("values");
    absl::StrAppend(&text_, "{\"count\":", graph.values.size());
    Key("name");
    AppendList(text_, graph.value_names, [&](absl::string_view value) { AddString(value); });
    column("type", [&](const ReportValue& value) { AddString(graph.types[value.type]); });
    column("bytes", [&](const ReportValue& value) { absl::StrAppend(&text_, value.num_bytes); });
    column("constant", [&](const ReportValue& value) { text_ += value.is_constant ? '1' : '0'; });
    Key("observed");
    AppendList(text_, graph.observed, [&](const auto& observed) { AddObserved(observed.first, observed.second); });
    Key("inputs");
    Numbers(graph.inputs);
    Key("outputs");
    Numbers(graph.outputs);
    text_ += '}';
  }

  void AddObserved(size_t value, const ObservedValue& observed) {
    const ObservedNarrowing& low = observed.In(report_.low);
    absl::StrAppend(&text_, "[", value, ",", Number(observed.largest), ",", low.overflow, ",", low.underflow, ",",
                    Number(low.relative_error), ",", observed.elements, ",");
    AddExponents(observed.exponents.Histogram());
    text_ += ']';
  }

  void AddExponents(const ExponentHistogram& exponents) {
    absl::StrAppend(&text_, exponents.first, ",", exponents.width, ",");
    AppendList(text_, exponents.bins, [&](int64_t count) { absl::StrAppend(&text_, count); });
    absl::StrAppend(&text_, ",", exponents.zeros, ",", exponents.not_finite);
  }

  void AddCasts() {
    Key("casts");
    AppendList(text_, report_.casts, [&](const CastReport& cast) {
      absl::StrAppend(&text_, "[", strings_.Of(cast.name), ",", strings_.Of(cast.value), ",");
      absl::StrAppend(&text_, cast.graph_value.has_value() ? static_cast<int64_t>(*cast.graph_value) : -1, ",");
      absl::StrAppend(&text_, strings_.Of(DTypeName(cast.from)), ",", strings_.Of(DTypeName(cast.to)), ",",
                      cast.num_elements, ",");
      AppendList(text_, cast.readers, [&](const std::string& reader) { AddString(reader); });
      text_ += ',';
      Numbers(cast.reading_nodes);
      text_ += ']';
    });
  }

  void AddWeights() {
    Key("weights");
    AppendList(text_, report_.weights, [&](const NarrowedWeight& weight) {
      const NarrowingStats& stats = weight.stats;
      absl::StrAppend(&text_, "[", strings_.Of(weight.name), ",", weight.bytes_before, ",", weight.bytes_after, ",",
                      weight.original_stays ? 1 : 0, ",", weight.saturated ? 1 : 0, ",");
      absl::StrAppend(&text_, Number(stats.largest), ",", stats.overflow, ",", stats.underflow, ",", stats.subnormal,
                      ",", Number(weight.relative_error), ",");
      AddExponents(weight.exponents);
      text_ += ']';
    });
  }

  void AddPart(const std::string& name, const std::string& error, double share, const std::vector<std::string>& nodes) {
    absl::StrAppend(&text_, "[", strings_.Of(name), ",", error, ",", Number(share), ",");
    AppendList(text_, nodes, [&](const std::string& node) { AddString(node); });
    text_ += ']';
  }

  // Errors as --sensitivity found them, or a search those of what it keeps.
  void AddParts() {
    Key("parts");
    if (report_.sensitivity.has_value()) {
      AppendList(text_, report_.sensitivity->units, [&](const UnitSensitivity& unit) {
        AddPart(unit.name, Number(unit.measured.value_or(unit.predicted)), unit.share, unit.nodes);
      });
    } else if (report_.search.has_value()) {
      AppendList(text_, report_.search->kept,
                 [&](const KeptPart& part) { AddPart(part.name, "null", part.share, part.nodes); });
    } else {
      text_ += "[]";
    }
  }

  const Report& report_;
  Strings strings_;
  std::string text_;
};

}  // namespace

std::string ScriptSafeString(absl::string_view text) {
  using Json = nlohmann::ordered_json;
  const std::string json = Json(std::string(text)).dump(-1, ' ', false, Json::error_handler_t::replace);
  return absl::StrReplaceAll(json, {{"<", "\\u003c"}, {"\u2028", "\\u2028"}, {"\u2029", "\\u2029"}});
}

std::string ReportData(const Report& report) { return DataWriter(report).Write(); }

}  // namespace amp
