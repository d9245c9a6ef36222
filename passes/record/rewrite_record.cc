#include "passes/record/rewrite_record.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/escaping.h"
#include "ir/base/status.h"
#include "ir/base/utf8.h"
#include "ir/graph/metadata.h"
#include "ir/graph/node_paths.h"
#include "ir/operators/operator_facts.h"
#include "nlohmann/json.hpp"
#include "passes/record/metadata_json.h"

namespace amp {
namespace {

using Json = nlohmann::json;
using OrderedJson = nlohmann::ordered_json;

constexpr absl::string_view kKey = "amp.rewrite";
constexpr int kVersion = 2;

bool IsGone(const Model& model, ValueId id) {
  const Value& value = model.value(id);
  const auto& names = model.graph(value.graph).names;
  const auto it = names.find(value.name);
  return it == names.end() || it->second != id;
}

// The node's first output; kNone if it has none.
ValueId KeyOf(const Node& node) {
  const auto it = std::find_if(node.outputs.begin(), node.outputs.end(), [](ValueId out) { return out != kNone; });
  return it == node.outputs.end() ? kNone : *it;
}

class RecordWriter {
 public:
  explicit RecordWriter(const Model& model) : model_(model) {}

  OrderedJson Write(const RewriteRecord& record) {
    OrderedJson json = {{"v", kVersion}, {"types", record.types}, {"opset", record.opset}, {"ir", record.ir_version}};
    const auto add = [&](const char* key, OrderedJson list) {
      if (!list.empty()) json[key] = std::move(list);
    };
    add("casts", List(record.casts, [&](NodeId id) { return Reference(id); }));
    add("narrowed", List(record.narrowed, [&](ValueId id) { return ValueReference(id); }));
    add("copies", List(record.copies, [&](const auto& copy) {
          return OrderedJson::array({ValueReference(copy.first), ValueReference(copy.second)});
        }));
    add("inputs", record.inputs);
    add("outputs", record.outputs);
    add("body_inputs", List(record.body_inputs, [&](const RewriteRecord::BodyPort& port) {
          return OrderedJson::array({Number(port.body), port.port});
        }));
    add("inlined", record.inlined);
    add("frozen", record.frozen);
    add("replaced", record.replaced);
    add("attributes", List(record.attributes, [&](const RewriteRecord::Attribute& attribute) {
          OrderedJson before = nullptr;
          if (attribute.before) before = absl::Base64Escape(*attribute.before);
          return OrderedJson::array({Reference(attribute.node), attribute.name, before});
        }));
    OrderedJson casts = OrderedJson::array();  // none is left out: they refer to each other by position
    for (const auto& cast : record.users_casts) casts.push_back(Write(cast));
    add("users_casts", std::move(casts));
    add("constants", List(record.constants, [](const std::string& bytes) { return absl::Base64Escape(bytes); }));
    add("units", List(record.units, [&](const UnitOperator& unit) { return Write(unit); }));
    add("scaled", List(record.scaled, [&](const ScaledProduct& scaled) { return Write(scaled); }));
    add("scopes", std::move(scopes_));
    if (record.num_misfits + num_gone_ > 0) json["misfits"] = record.num_misfits + num_gone_;
    return json;
  }

  const Reason& obstacle() const { return obstacle_; }

 private:
  // Entries that name something that is gone are counted instead.
  template <typename Entries, typename Describe>
  OrderedJson List(const Entries& entries, Describe describe) {
    OrderedJson json = OrderedJson::array();
    for (const auto& entry : entries) {
      is_gone_ = false;
      OrderedJson described = describe(entry);
      if (is_gone_) {
        ++num_gone_;
      } else {
        json.push_back(std::move(described));
      }
    }
    return json;
  }

  OrderedJson Write(const RewriteRecord::UsersCast& cast) {
    OrderedJson json = OrderedJson::object();
    is_gone_ = false;
    if (cast.node != kNone) {
      json["cast"] = Reference(cast.node);
    } else if (cast.source != kNone || cast.source_cast.has_value()) {
      json["name"] = cast.name;
      json["output"] = cast.output;
      if (!cast.description.empty()) json["about"] = absl::Base64Escape(cast.description);
      json["to"] = std::string(DTypeName(cast.to));
      if (cast.graph != kMainGraph) json["scope"] = Number(cast.graph);
      json["source"] = cast.source == kNone ? OrderedJson(*cast.source_cast) : ValueReference(cast.source);
      if (cast.source != kNone && cast.source_name != model_.value(cast.source).name) json["was"] = cast.source_name;
    }
    if (is_gone_) ++num_gone_;
    if (is_gone_ || json.empty()) json = {{"source", nullptr}};  // counted
    const auto reader = [&](const Use& use) {
      return OrderedJson::array({use.IsGraphOutput() ? OrderedJson(Number(use.graph)) : Reference(use.node), use.port});
    };
    json["readers"] = List(cast.readers, reader);
    return json;
  }

  OrderedJson Write(const UnitOperator& unit) {
    OrderedJson json = {{"node", Reference(unit.node)}, {"opset", unit.opset}};
    for (const std::string& bytes : unit.nodes) json["nodes"].push_back(absl::Base64Escape(bytes));
    json["reads"] = OrderedJson::array();
    for (const UnitOperator::Operand& operand : unit.operands) {
      OrderedJson what = nullptr;
      if (operand.port) what = *operand.port;
      if (operand.value != kNone) what = ValueReference(operand.value);
      json["reads"].push_back(OrderedJson::array({operand.name, what}));
    }
    for (const ValueId made : unit.made) json["made"].push_back(ValueReference(made));
    for (const UnitOperator::Reshaped& reshaped : unit.reshaped) {
      json["reshaped"].push_back(OrderedJson::array({ValueReference(reshaped.value), reshaped.dims}));
    }
    return json;
  }

  OrderedJson Write(const ScaledProduct& scaled) {
    OrderedJson json = {
        {"node", Reference(scaled.node)}, {"weights", ValueReference(scaled.weights)}, {"exponent", scaled.exponent}};
    if (scaled.bias != kNone) json["bias"] = ValueReference(scaled.bias);
    if (scaled.mul == kNone) {
      json["alpha"] = scaled.had_alpha;
    } else {
      json["mul"] = Reference(scaled.mul);
    }
    return json;
  }

  OrderedJson ValueReference(ValueId id) {
    is_gone_ = is_gone_ || IsGone(model_, id);
    const Value& value = model_.value(id);
    if (value.graph == kMainGraph) return value.name;
    return OrderedJson::array({value.name, Number(value.graph)});
  }

  OrderedJson Reference(NodeId id) {
    const ValueId key = KeyOf(model_.node(id));
    if (key != kNone) return ValueReference(key);
    if (!obstacle_) {
      obstacle_ = absl::StrCat("node '", Escaped(NodePath(model_, id)), "' has no output to be called by");
    }
    return nullptr;
  }

  // Returns the number of a graph: 0 for the main graph, else its position in the table, from 1 on. Takes time in
  // proportion to how deep graphs are nested.
  int Number(GraphId graph) {
    if (graph == kMainGraph) return 0;
    if (const auto it = numbers_.find(graph); it != numbers_.end()) return it->second;
    const NodeId owner = model_.graph(graph).owner;
    const auto& bodies = model_.node(owner).bodies;
    const auto position = std::find(bodies.begin(), bodies.end(), graph) - bodies.begin();
    OrderedJson entry = OrderedJson::array({Reference(owner), position});
    scopes_.push_back(std::move(entry));
    return numbers_[graph] = static_cast<int>(scopes_.size());
  }

  const Model& model_;
  OrderedJson scopes_ = OrderedJson::array();
  absl::flat_hash_map<GraphId, int> numbers_;
  bool is_gone_ = false;
  int num_gone_ = 0;
  Reason obstacle_ = Reason::None();
};

class RecordReader : private MetadataReader {
 public:
  explicit RecordReader(const Model& model) : model_(model) {}

  absl::StatusOr<RewriteRecord> Read(Json json) {
    RewriteRecord record = ReadFields(std::move(json));
    if (!status().ok()) return status();
    return record;
  }

 private:
  RewriteRecord ReadFields(Json json) {
    RewriteRecord record;
    record.types = Names(Take(json, "types"));
    if (record.types.empty()) Fail("'types': expected at least one");
    for (const std::string& type : record.types) {
      if (!IsLowFloat(Type(type))) Fail("'types': expected 16-bit floats, found '", type, "'");
    }
    record.opset = Integer(Take(json, "opset"));
    record.ir_version = Integer(Take(json, "ir"));
    for (const Json& scope : TakeList(json, "scopes")) AddScope(scope);
    for (const Json& cast : TakeList(json, "casts")) Keep(record.casts, CastOf(cast));
    for (const Json& constant : TakeList(json, "narrowed")) Keep(record.narrowed, ValueOf(constant));
    for (const Json& entry : TakeList(json, "copies")) {
      const Json::array_t& pair = Tuple(entry, 2);
      const ValueId copy = ValueOf(pair[0]), original = ValueOf(pair[1]);
      if (copy != kNone && original != kNone) record.copies.emplace_back(copy, original);
    }
    record.inputs = Names(TakeList(json, "inputs"));
    record.outputs = Names(TakeList(json, "outputs"));
    for (const Json& entry : TakeList(json, "body_inputs")) {
      const Json::array_t& pair = Tuple(entry, 2);
      const auto port = static_cast<size_t>(Integer(pair[1]));
      if (const GraphId body = Body(pair[0]); body != kNone) record.body_inputs.push_back({body, port});
    }
    record.inlined = Names(TakeList(json, "inlined"));
    record.frozen = Names(TakeList(json, "frozen"));
    record.replaced = Names(TakeList(json, "replaced"));
    for (const Json& entry : TakeList(json, "attributes")) ReadAttribute(entry, record);
    Json::array_t casts = TakeList(json, "users_casts");
    for (Json& cast : casts) record.users_casts.push_back(ReadUsersCast(std::move(cast), casts.size()));
    for (const Json& constant : TakeList(json, "constants")) {
      if (!absl::Base64Unescape(Text(constant), &record.constants.emplace_back())) Fail("'constants': expected base64");
    }
    for (Json& unit : TakeList(json, "units")) ReadUnit(std::move(unit), record);
    for (Json& scaled : TakeList(json, "scaled")) ReadScaled(std::move(scaled), record);
    record.num_misfits = num_misfits_ + (json.contains("misfits") ? Integer(Take(json, "misfits")) : 0);
    ExpectNothingIn(json);
    return record;
  }

  static DType Type(const std::string& name) {
    const std::optional<DType> type = ParseDType(name);
    return type.value_or(DType::kUndefined);
  }

  // kNone for a body that the model does not have.
  GraphId Scope(const Json& number) {
    const auto position = static_cast<size_t>(Integer(number));
    if (position < scopes_.size()) return scopes_[position];
    Fail("expected one of ", scopes_.size(), " scopes, found number ", position);
    return kNone;
  }
  GraphId Body(const Json& number) {
    const GraphId body = Scope(number);
    if (body == kMainGraph) Fail("expected a body, found the main graph");
    if (body == kNone) ++num_misfits_;
    return body;
  }
  void AddScope(const Json& json) {
    const Json::array_t& pair = Tuple(json, 2);
    const auto position = static_cast<size_t>(Integer(pair[1]));
    const NodeId owner = NodeOf(pair[0]);
    const bool exists = owner != kNone && position < model_.node(owner).bodies.size();
    scopes_.push_back(exists ? model_.node(owner).bodies[position] : kNone);
  }

  ValueId ValueOf(const Json& json) {
    std::string name;
    GraphId graph = kMainGraph;
    if (json.is_string()) {
      name = Name(json);
    } else {
      const Json::array_t& pair = Tuple(json, 2);
      name = Name(pair[0]);
      graph = Scope(pair[1]);
    }
    if (graph != kNone) {
      const auto& names = model_.graph(graph).names;
      if (const auto it = names.find(name); it != names.end()) return it->second;
    }
    ++num_misfits_;
    return kNone;
  }
  NodeId NodeOf(const Json& json) {
    const ValueId value = ValueOf(json);
    if (value == kNone) return kNone;
    const NodeId producer = model_.value(value).producer;
    if (producer == kNone) ++num_misfits_;
    return producer;
  }
  NodeId CastOf(const Json& json) {
    const NodeId id = NodeOf(json);
    if (id == kNone) return kNone;
    const bool is_cast = IsPlainCast(model_, id);
    if (!is_cast) ++num_misfits_;
    return is_cast ? id : kNone;
  }
  template <typename Id>
  static void Keep(std::vector<Id>& list, Id id) {
    if (id != kNone) list.push_back(id);
  }

  void ReadAttribute(const Json& entry, RewriteRecord& record) {
    const Json::array_t& parts = Tuple(entry, 3);
    RewriteRecord::Attribute attribute{NodeOf(parts[0]), Name(parts[1]), std::nullopt};
    if (!parts[2].is_null()) {
      attribute.before.emplace();
      if (!absl::Base64Unescape(Text(parts[2]), &*attribute.before)) Fail("'attributes': expected base64");
    }
    if (attribute.node != kNone) record.attributes.push_back(std::move(attribute));
  }

  // Base64 of anything that a message may be.
  void ReadUnit(Json json, RewriteRecord& record) {
    UnitOperator unit{.node = NodeOf(Take(json, "node")), .opset = Integer(Take(json, "opset"))};
    for (const Json& node : TakeList(json, "nodes")) {
      if (!absl::Base64Unescape(Text(node), &unit.nodes.emplace_back())) Fail("'nodes': expected base64");
    }
    bool is_whole = unit.node != kNone;
    for (const Json& entry : TakeList(json, "reads")) {
      const Json::array_t& pair = Tuple(entry, 2);
      UnitOperator::Operand operand{.name = Name(pair[0]), .port = std::nullopt};
      if (pair[1].is_number()) {
        operand.port = static_cast<size_t>(Integer(pair[1]));
      } else if (!pair[1].is_null()) {
        operand.value = ValueOf(pair[1]);
        is_whole = is_whole && operand.value != kNone;
      }
      unit.operands.push_back(std::move(operand));
    }
    for (const Json& made : TakeList(json, "made")) Keep(unit.made, ValueOf(made));
    for (const Json& entry : TakeList(json, "reshaped")) {
      const Json::array_t& pair = Tuple(entry, 2);
      UnitOperator::Reshaped reshaped;
      reshaped.value = ValueOf(pair[0]);
      if (!pair[1].is_array()) Fail("'reshaped': expected a list of dimensions");
      for (const Json& dim : pair[1].is_array() ? pair[1].get_ref<const Json::array_t&>() : Json::array_t()) {
        reshaped.dims.push_back(Integer(dim));
      }
      if (reshaped.value != kNone) unit.reshaped.push_back(std::move(reshaped));
    }
    ExpectNothingIn(json);
    if (is_whole) record.units.push_back(std::move(unit));
  }

  void ReadScaled(Json json, RewriteRecord& record) {
    ScaledProduct scaled{.node = NodeOf(Take(json, "node")), .weights = ValueOf(Take(json, "weights"))};
    scaled.exponent = Integer(Take(json, "exponent"), -kLargestExponent);
    const bool has_bias = json.contains("bias"), has_mul = json.contains("mul");
    if (has_bias) scaled.bias = ValueOf(Take(json, "bias"));
    if (has_mul) {
      scaled.mul = NodeOf(Take(json, "mul"));
    } else {
      scaled.had_alpha = Boolean(Take(json, "alpha"));
    }
    ExpectNothingIn(json);
    const bool is_whole = scaled.node != kNone && scaled.weights != kNone && has_bias == (scaled.bias != kNone) &&
                          has_mul == (scaled.mul != kNone);
    if (is_whole) record.scaled.push_back(scaled);
  }

  // One without a source does not fit.
  RewriteRecord::UsersCast ReadUsersCast(Json json, size_t num_casts) {
    RewriteRecord::UsersCast cast;
    for (const Json& reader : Take(json, "readers")) ReadReader(reader, cast);
    if (json.contains("cast")) {
      cast.node = CastOf(Take(json, "cast"));
    } else if (Json source = Take(json, "source"); !source.is_null()) {
      cast.name = Text(Take(json, "name"));
      cast.output = Name(Take(json, "output"));
      const std::string about = json.contains("about") ? Text(Take(json, "about")) : "";
      if (!absl::Base64Unescape(about, &cast.description)) Fail("'about': expected base64");
      const std::string type = Text(Take(json, "to"));
      cast.to = Type(type);
      if (cast.to != DType::kFloat32 && !IsLowFloat(cast.to)) Fail("'to': expected a float, found '", type, "'");
      if (json.contains("scope")) cast.graph = Body(Take(json, "scope"));
      const std::string was = json.contains("was") ? Name(Take(json, "was")) : "";
      if (source.is_number()) {
        const auto position = static_cast<size_t>(Integer(source));
        if (position >= num_casts) Fail("'source': found number ", position);
        if (cast.graph != kNone) cast.source_cast = position;
      } else if (const ValueId value = ValueOf(source); value != kNone && cast.graph != kNone) {
        cast.source = value;
        cast.source_name = was.empty() ? model_.value(value).name : was;
      }
    }
    ExpectNothingIn(json);
    return cast;
  }
  void ReadReader(const Json& json, RewriteRecord::UsersCast& cast) {
    const Json::array_t& pair = Tuple(json, 2);
    const auto port = static_cast<size_t>(Integer(pair[1]));
    if (pair[0].is_number()) {
      if (const GraphId body = Body(pair[0]); body != kNone) cast.readers.push_back({kNone, port, body});
    } else if (const NodeId node = NodeOf(pair[0]); node != kNone) {
      cast.readers.push_back({node, port, model_.node(node).graph});
    }
  }

  const Model& model_;
  std::vector<GraphId> scopes_ = {kMainGraph};
  int num_misfits_ = 0;
};

// Whether all strings are, keys aside, which are ours. As deep as records are.
bool HoldsUtf8(const OrderedJson& json) {
  if (json.is_string()) return IsUtf8(json.get_ref<const std::string&>());
  return !json.is_structured() || std::all_of(json.begin(), json.end(), HoldsUtf8);
}

absl::Status NoRecord(absl::string_view why) {
  return ModelError("metadata '", kKey, "': not a record of a rewrite: ", Escaped(why));
}

}  // namespace

absl::StatusOr<std::optional<RewriteRecord>> ReadRecord(const Model& model) {
  const std::optional<std::string> text = FindMetadata(model, kKey);
  if (!text.has_value()) return std::optional<RewriteRecord>();
  absl::StatusOr<Json> parsed = ParseMetadataJson(*text);
  if (!parsed.ok()) return NoRecord(parsed.status().message());
  Json& json = *parsed;
  MetadataReader head;
  const Json version = head.Take(json, "v");
  if (!head.status().ok()) return NoRecord(head.status().message());
  if (version != kVersion) {
    return ModelError("metadata '", kKey, "': expected version ", kVersion, ", found ",
                      version.is_number() ? version.dump() : version.type_name());
  }
  absl::StatusOr<RewriteRecord> record = RecordReader(model).Read(std::move(json));
  if (!record.ok()) return NoRecord(record.status().message());
  return std::optional<RewriteRecord>(*std::move(record));
}

bool HasRecord(const Model& model) {
  const auto record = ReadRecord(model);
  return record.ok() && record->has_value();
}

Reason WriteRecord(Model& model, const RewriteRecord& record) {
  if (const absl::Status earlier = ReadRecord(model).status(); !earlier.ok()) {
    return absl::StrCat(earlier.message(), "; it stays as it is");
  }
  RecordWriter writer(model);
  const OrderedJson json = writer.Write(record);
  Reason obstacle = writer.obstacle();
  if (!obstacle && !HoldsUtf8(json)) obstacle = "a name in it is not UTF-8";
  if (obstacle) {
    RemoveRecord(model);
  } else {
    SetMetadata(model, kKey, json.dump());
  }
  return obstacle;
}

void RemoveRecord(Model& model) {
  if (ReadRecord(model).ok()) RemoveMetadata(model, kKey);
}

}  // namespace amp
