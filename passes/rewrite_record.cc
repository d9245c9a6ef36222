#include "passes/rewrite_record.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/escaping.h"
#include "ir/attributes.h"
#include "ir/metadata.h"
#include "ir/operator_facts.h"
#include "ir/status.h"
#include "nlohmann/json.hpp"

namespace amp {
namespace {

using Json = nlohmann::ordered_json;

constexpr absl::string_view kKey = "amp.rewrite";
constexpr int kVersion = 1;
// Small constants keep their exact value; larger ones can only be widened again.
constexpr size_t kLargestKeptAttribute = 256;

// The node's first output; what a record calls a node by, since nodes need no name.
std::string KeyOf(const Model& model, NodeId id) {
  for (ValueId out : model.node(id).outputs) {
    if (out != kNone) return model.value(out).name;
  }
  return "";
}

template <typename List>
void AddUnlessEmpty(Json& json, const char* key, const List& list) {
  if (!list.empty()) json[key] = list;
}

Json AttributesJson(const std::vector<RewriteRecord::Attribute>& attributes) {
  Json list = Json::array();
  for (const auto& attribute : attributes) {
    Json before = nullptr;
    if (attribute.before) before = absl::Base64Escape(*attribute.before);
    list.push_back({attribute.output, attribute.name, before});
  }
  return list;
}

Json PortsJson(const std::vector<RewriteRecord::BodyPort>& ports) {
  Json list = Json::array();
  for (const auto& port : ports) list.push_back({port.owner, port.body, port.port});
  return list;
}

std::vector<RewriteRecord::BodyPort> PortsFromJson(const Json& json, const char* key) {
  std::vector<RewriteRecord::BodyPort> ports;
  for (const Json& port : json.value(key, Json::array())) ports.push_back({port.at(0), port.at(1), port.at(2)});
  return ports;
}

RewriteRecord::BodyPort PortOf(const Model& model, GraphId graph, int port) {
  const NodeId owner = model.graph(graph).owner;
  const auto& bodies = model.node(owner).bodies;
  const auto position = std::find(bodies.begin(), bodies.end(), graph) - bodies.begin();
  return {KeyOf(model, owner), static_cast<int>(position), port};
}

Json BypassedCastsJson(const std::vector<RewriteRecord::BypassedCast>& casts) {
  Json list = Json::array();
  for (const auto& cast : casts) {
    Json entry = {{"name", cast.name},
                  {"input", cast.input},
                  {"output", cast.output},
                  {"source", cast.source},
                  {"to", std::string(DTypeName(cast.to))},
                  {"readers", cast.readers}};
    if (!cast.scope.owner.empty()) entry["scope"] = PortsJson({cast.scope});
    if (!cast.body_outputs.empty()) entry["body_outputs"] = PortsJson(cast.body_outputs);
    list.push_back(std::move(entry));
  }
  return list;
}

// Exceptions of the JSON library say what does not fit.
RewriteRecord RecordFromJson(const Json& json) {
  RewriteRecord record;
  const auto read = [&](const char* key, auto& out) {
    if (json.contains(key)) json.at(key).get_to(out);
  };
  json.at("opset").get_to(record.opset);
  json.at("ir").get_to(record.ir_version);
  read("types", record.types);
  read("casts", record.casts);
  read("narrowed", record.narrowed);
  read("copies", record.copies);
  read("inputs", record.inputs);
  read("outputs", record.outputs);
  record.body_inputs = PortsFromJson(json, "body_inputs");
  read("inlined", record.inlined);
  read("frozen", record.frozen);
  for (const Json& entry : json.value("attributes", Json::array())) {
    RewriteRecord::Attribute attribute{entry.at(0), entry.at(1), std::nullopt};
    if (!entry.at(2).is_null()) {
      attribute.before.emplace();
      absl::Base64Unescape(entry.at(2).get<std::string>(), &*attribute.before);
    }
    record.attributes.push_back(std::move(attribute));
  }
  for (const Json& entry : json.value("bypassed_casts", Json::array())) {
    RewriteRecord::BypassedCast cast;
    entry.at("name").get_to(cast.name);
    entry.at("input").get_to(cast.input);
    entry.at("output").get_to(cast.output);
    entry.at("source").get_to(cast.source);
    cast.to = ParseDType(entry.at("to").get<std::string>()).value_or(DType::kUndefined);
    entry.at("readers").get_to(cast.readers);
    if (entry.contains("scope")) cast.scope = PortsFromJson(entry, "scope").at(0);
    cast.body_outputs = PortsFromJson(entry, "body_outputs");
    record.bypassed_casts.push_back(std::move(cast));
  }
  return record;
}

bool IsFloatCast(const Model& model, NodeId id) {
  const Node& node = model.node(id);
  if (node.op_type() != "Cast" || !IsCast(node) || model.IsCallOfFunction(id) || node.inserted) return false;
  if (node.inputs.size() != 1 || node.inputs[0] == kNone || node.outputs.size() != 1 || node.outputs[0] == kNone) {
    return false;
  }
  const auto is_float = [](DType type) { return type == DType::kFloat32 || IsLowFloat(type); };
  return is_float(model.value(node.inputs[0]).dtype) && is_float(model.value(node.outputs[0]).dtype);
}

template <typename T>
void Append(std::vector<T>& to, std::vector<T> from) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

}  // namespace

absl::StatusOr<std::optional<RewriteRecord>> ReadRecord(const Model& model) {
  const std::optional<std::string> text = FindMetadata(model, kKey);
  if (!text.has_value()) return std::optional<RewriteRecord>();
  try {
    const Json json = Json::parse(*text);
    if (json.at("v") != kVersion) {
      return ModelError("metadata '", kKey, "': expected version ", kVersion, ", found ", Escaped(json.at("v").dump()));
    }
    return std::optional<RewriteRecord>(RecordFromJson(json));
  } catch (const std::exception& error) {
    return ModelError("metadata '", kKey, "': not a record of a rewrite: ", Escaped(error.what()));
  }
}

void WriteRecord(Model& model, const RewriteRecord& record) {
  Json json = {{"v", kVersion}, {"types", record.types}, {"opset", record.opset}, {"ir", record.ir_version}};
  AddUnlessEmpty(json, "casts", record.casts);
  AddUnlessEmpty(json, "narrowed", record.narrowed);
  AddUnlessEmpty(json, "copies", record.copies);
  AddUnlessEmpty(json, "inputs", record.inputs);
  AddUnlessEmpty(json, "outputs", record.outputs);
  AddUnlessEmpty(json, "body_inputs", PortsJson(record.body_inputs));
  AddUnlessEmpty(json, "inlined", record.inlined);
  AddUnlessEmpty(json, "frozen", record.frozen);
  AddUnlessEmpty(json, "attributes", AttributesJson(record.attributes));
  AddUnlessEmpty(json, "bypassed_casts", BypassedCastsJson(record.bypassed_casts));
  SetMetadata(model, kKey, json.dump(-1, ' ', false, Json::error_handler_t::replace));
}

void RemoveRecord(Model& model) { RemoveMetadata(model, kKey); }

void RewriteRecorder::Begin(const Model& model, const std::vector<std::string>& inlined_functions) {
  before_.inlined = inlined_functions;
  before_.opset = model.opset("");
  before_.ir_version = model.ir_version();
  const Graph& main = model.graph(kMainGraph);
  for (ValueId id : main.inputs) {
    if (model.value(id).IsInitializer() && !model.IsConstant(id)) overridable_.push_back(model.value(id).name);
  }
}

void RewriteRecorder::BeforeCasts(const Model& model) {
  const Graph& main = model.graph(kMainGraph);
  const auto is_float32 = [&](ValueId id) { return model.value(id).dtype == DType::kFloat32; };
  std::transform(main.inputs.begin(), main.inputs.end(), std::back_inserter(float32_inputs_), is_float32);
  std::transform(main.outputs.begin(), main.outputs.end(), std::back_inserter(float32_outputs_), is_float32);
  for (GraphId graph = 1; graph < model.num_graphs(); ++graph) {
    const std::vector<ValueId>& inputs = model.graph(graph).inputs;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (ElementType(model.value(inputs[i])) == DType::kFloat32) {
        body_inputs_.push_back({kNone, static_cast<int32_t>(i), graph});
      }
    }
  }
  for (NodeId id = 0; id < model.num_nodes(); ++id) {
    const Node& node = model.node(id);
    if (node.erased) continue;
    for (std::string& name : AttributesThatTypesEdit(node)) {
      std::optional<std::string> bytes = SerializeAttribute(node, name);
      if (bytes && bytes->size() > kLargestKeptAttribute) break;  // of a Constant: widened, and its other forms absent
      attributes_.push_back({id, std::move(name), std::move(bytes)});
    }
    if (!IsFloatCast(model, id)) continue;
    SeenCast seen{node.inputs[0], {}, {}};
    for (const Use& use : model.value(node.outputs[0]).uses) {
      if (!use.IsGraphOutput() || use.graph != kMainGraph) seen.readers.push_back(use);
    }
    seen.record.name = std::string(node.name());
    seen.record.input = model.value(node.inputs[0]).name;
    seen.record.output = model.value(node.outputs[0]).name;
    seen.record.to = model.value(node.outputs[0]).dtype;
    casts_.emplace_back(id, std::move(seen));
  }
}

std::string RewriteRecorder::ObstacleToRecord(const Model& model, const absl::flat_hash_set<std::string>& ours) const {
  absl::flat_hash_set<absl::string_view> names;
  for (ValueId id = 0; id < model.num_values(); ++id) {
    const Value& value = model.value(id);
    const bool is_gone = value.producer != kNone && model.node(value.producer).erased;
    if (!is_gone && !names.insert(value.name).second) {
      return absl::StrCat("several scopes have a value named '", Escaped(value.name), "'");
    }
  }
  for (const auto& [id, seen] : casts_) {
    const NodeId producer = model.value(seen.input).producer;
    const bool is_users = producer != kNone && !ours.contains(seen.record.name) &&
                          !ours.contains(std::string(model.node(producer).name()));
    if (is_users && model.node(producer).erased) {
      return absl::StrCat("casts in a row became superfluous, '", Escaped(seen.record.name), "' the last of them");
    }
  }
  return "";
}

std::string RewriteRecorder::Finish(Model& model, DType low, const std::vector<InsertedCast>& casts,
                                    const std::vector<NarrowedWeight>& weights,
                                    const std::vector<NodeId>& erased_casts) {
  // A record that cannot be read is as good as none; the loaded model's own checks have passed.
  absl::StatusOr<std::optional<RewriteRecord>> earlier = ReadRecord(model);
  RewriteRecord record = before_;
  if (earlier.ok() && earlier->has_value()) {
    record = **std::move(earlier);
    Append(record.inlined, before_.inlined);
  }
  const std::string type(DTypeName(low));
  if (std::find(record.types.begin(), record.types.end(), type) == record.types.end()) record.types.push_back(type);

  absl::flat_hash_set<NodeId> erased(erased_casts.begin(), erased_casts.end());
  absl::flat_hash_set<std::string> erased_names;
  for (NodeId id : erased_casts) erased_names.emplace(model.node(id).name());
  const absl::flat_hash_set<std::string> ours_before(record.casts.begin(), record.casts.end());
  if (std::string obstacle = ObstacleToRecord(model, ours_before); !obstacle.empty()) {
    RemoveRecord(model);
    return obstacle;
  }
  std::erase_if(record.casts, [&](const std::string& name) { return erased_names.contains(name); });
  for (const InsertedCast& cast : casts) {
    if (!model.node(cast.node).erased) record.casts.emplace_back(model.node(cast.node).name());
  }
  for (const NarrowedWeight& weight : weights) {
    if (weight.copy.empty()) {
      record.narrowed.push_back(weight.name);
    } else {
      record.copies.emplace_back(weight.copy, weight.name);
    }
  }
  const Graph& main = model.graph(kMainGraph);
  const auto add_ports = [&](const std::vector<ValueId>& values, const std::vector<bool>& was_float32,
                             std::vector<std::string>& names) {
    for (size_t i = 0; i < values.size() && i < was_float32.size(); ++i) {
      const Value& value = model.value(values[i]);
      if (was_float32[i] && IsLowFloat(value.dtype) && !value.IsInitializer()) names.push_back(value.name);
    }
  };
  add_ports(main.inputs, float32_inputs_, record.inputs);
  add_ports(main.outputs, float32_outputs_, record.outputs);
  for (const Use& input : body_inputs_) {
    const ValueId id = model.graph(input.graph).inputs[static_cast<size_t>(input.port)];
    if (IsLowFloat(ElementType(model.value(id)))) record.body_inputs.push_back(PortOf(model, input.graph, input.port));
  }
  absl::flat_hash_set<std::string> inputs_now;
  for (ValueId id : main.inputs) inputs_now.insert(model.value(id).name);
  for (const std::string& name : overridable_) {
    if (!inputs_now.contains(name)) record.frozen.push_back(name);
  }
  absl::flat_hash_set<std::pair<std::string, std::string>> known_attributes;
  for (const auto& attribute : record.attributes) known_attributes.emplace(attribute.output, attribute.name);
  for (SeenAttribute& seen : attributes_) {
    const Node& node = model.node(seen.node);
    if (node.erased || SerializeAttribute(node, seen.name) == seen.before) continue;
    std::string key = KeyOf(model, seen.node);
    if (!known_attributes.emplace(key, seen.name).second) continue;  // the first one counts
    record.attributes.push_back({std::move(key), std::move(seen.name), std::move(seen.before)});
  }
  for (auto& [id, seen] : casts_) {
    if (ours_before.contains(seen.record.name)) continue;
    seen.record.source = model.value(seen.input).name;
    const GraphId home = model.node(id).graph;
    if (home != model.value(seen.input).graph) seen.record.scope = PortOf(model, home, 0);
    for (const Use& use : seen.readers) {
      if (use.IsGraphOutput()) {
        const Graph& body = model.graph(use.graph);
        if (body.outputs[static_cast<size_t>(use.port)] != seen.input) continue;
        seen.record.body_outputs.push_back(PortOf(model, use.graph, use.port));
        continue;
      }
      const Node& reader = model.node(use.node);
      if (reader.erased || reader.inputs[static_cast<size_t>(use.port)] != seen.input) continue;
      seen.record.readers.emplace_back(KeyOf(model, use.node), use.port);
    }
    const bool is_bypassed = !seen.record.readers.empty() || !seen.record.body_outputs.empty();
    if (erased.contains(id) || is_bypassed) record.bypassed_casts.push_back(std::move(seen.record));
  }
  WriteRecord(model, record);
  return "";
}

}  // namespace amp
