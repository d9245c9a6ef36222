#include "passes/record/call_record.h"

#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "ir/base/status.h"
#include "ir/graph/metadata.h"
#include "ir/schema/operator_label.h"
#include "nlohmann/json.hpp"
#include "passes/record/metadata_json.h"

namespace amp {
namespace {

using Json = nlohmann::json;
using OrderedJson = nlohmann::ordered_json;
using Function = std::pair<std::string, std::string>;  // domain, name

constexpr absl::string_view kKey = "amp.calls";
constexpr int kVersion = 1;

struct RecordedCall {
  InlinedCall call;
  std::vector<std::string> nodes;
};

struct Record {
  std::vector<RecordedCall> calls;
  std::map<std::string, Function> copies;  // by "domain::name" of the copy
};

OrderedJson FunctionJson(const Function& function) {
  return {TextOfBytes(function.first), TextOfBytes(function.second)};
}

OrderedJson CallJson(const RecordedCall& recorded) {
  const InlinedCall& call = recorded.call;
  std::map<std::string, std::string> facts;
  for (const auto& [key, value] : call.facts) facts[TextOfBytes(key)] = TextOfBytes(value);
  OrderedJson nodes = OrderedJson::array();
  for (const std::string& node : recorded.nodes) nodes.push_back(TextOfBytes(node));
  return {{"label", TextOfBytes(call.label)},
          {"function", FunctionJson({call.domain, call.function})},
          {"facts", facts},
          {"nodes", nodes}};
}

// One that says nothing is not written.
void Write(const Record& record, Model& model) {
  if (record.calls.empty() && record.copies.empty()) {
    RemoveMetadata(model, kKey);
    return;
  }
  OrderedJson calls = OrderedJson::array();
  std::map<std::string, OrderedJson> copies;
  for (const RecordedCall& call : record.calls) calls.push_back(CallJson(call));
  for (const auto& [copy, original] : record.copies) copies[TextOfBytes(copy)] = FunctionJson(original);
  SetMetadata(model, kKey, OrderedJson({{"v", kVersion}, {"calls", calls}, {"copies", copies}}).dump());
}

class CallReader : private MetadataReader {
 public:
  absl::StatusOr<Record> Read(Json json) {
    Record record;
    for (const auto& [copy, original] : TakeObject(json, "copies")) {
      record.copies[BytesOfText(copy)] = FunctionFrom(original);
    }
    for (Json& entry : List(json, "calls")) record.calls.push_back(CallFrom(entry));
    if (!status().ok()) return status();
    return record;
  }

 private:
  Json::array_t List(Json& from, const char* key) {
    if (!from.contains(key)) Fail("expected a field '", key, "'");
    return TakeList(from, key);
  }
  std::string Bytes(const Json& json) { return BytesOfText(Text(json)); }

  Function FunctionFrom(const Json& json) {
    const Json::array_t& pair = Tuple(json, 2);
    return {Bytes(pair[0]), Bytes(pair[1])};
  }

  RecordedCall CallFrom(Json& entry) {
    RecordedCall recorded;
    std::tie(recorded.call.domain, recorded.call.function) = FunctionFrom(Take(entry, "function"));
    recorded.call.label = Bytes(Take(entry, "label"));
    for (const auto& [key, value] : TakeObject(entry, "facts")) recorded.call.facts[BytesOfText(key)] = Bytes(value);
    for (const Json& node : List(entry, "nodes")) recorded.nodes.push_back(Bytes(node));
    return recorded;
  }
};

absl::StatusOr<Record> Read(const onnx::ModelProto& model) {
  const std::optional<std::string> text = FindMetadata(model, kKey);
  if (!text) return Record();
  const auto no_record = [](const absl::Status& found) {
    return ModelError("expected a record of inlined calls, found: ", Escaped(found.message()));
  };
  absl::StatusOr<Json> json = ParseMetadataJson(*text);
  if (!json.ok()) return no_record(json.status());
  MetadataReader head;
  const Json version = head.Take(*json, "v");
  if (!head.status().ok()) return no_record(head.status());
  if (version != kVersion) {
    return ModelError("expected version ", kVersion, ", found ",
                      version.is_number() ? version.dump() : version.type_name());
  }
  absl::StatusOr<Record> record = CallReader().Read(*std::move(json));
  if (!record.ok()) return no_record(record.status());
  return record;
}

}  // namespace

void RecordCalls(Model& model, const NodeClasses& classes, const OutlinedFunctions* outlined) {
  absl::flat_hash_map<CallId, size_t> position;
  Record record;
  for (const NodeId id : classes.nodes.ids()) {
    const CallId call = classes.nodes[id].call;
    if (call == kNone || model.node(id).erased) continue;
    const auto [it, is_new] = position.try_emplace(call, record.calls.size());
    if (is_new) {
      record.calls.emplace_back().call = model.call(call);
    }
    record.calls[it->second].nodes.emplace_back(model.node(id).name());
  }
  if (record.calls.empty()) return;
  absl::StatusOr<Record> before = Read(model.proto());
  if (!before.ok()) return;  // the user's: RestoreFunctionNames has said so
  record.copies = std::move(before->copies);
  if (outlined != nullptr) {
    record.calls.clear();  // the nodes are back in functions
    for (const auto& [copy, original] : outlined->originals) {
      const auto it = record.copies.find(OperatorLabel(original.first, original.second));
      const Function source = it == record.copies.end() ? original : it->second;
      record.copies[copy] = source;
    }
  }
  Write(record, model);
}

void RestoreCalls(Model& model) {
  absl::StatusOr<Record> record = Read(model.proto());
  if (!record.ok() || record->calls.empty()) return;
  IdVector<CallId, InlinedCall> calls = model.calls();
  absl::flat_hash_map<std::string, CallId> call_of;
  for (RecordedCall& recorded : record->calls) {
    for (std::string& node : recorded.nodes) call_of.try_emplace(std::move(node), calls.next());
    calls.push_back(std::move(recorded.call));
  }
  model.SetCalls(std::move(calls));
  for (const NodeId id : model.AllNodes()) {
    if (model.node(id).call != kNone) continue;
    const auto it = call_of.find(std::string(model.node(id).name()));
    if (it != call_of.end()) model.SetCall(id, it->second);
  }
}

void RestoreFunctionNames(Model& model) {
  const absl::StatusOr<Record> record = Read(model.proto());
  if (!record.ok()) {
    model.AddWarning(absl::StrCat("metadata '", kKey, "' is ignored and stays: ", record.status().message()));
    return;
  }
  IdVector<CallId, InlinedCall> calls = model.calls();
  for (InlinedCall& call : calls) {
    const auto copy = record->copies.find(call.FunctionName());
    if (copy != record->copies.end()) std::tie(call.domain, call.function) = copy->second;
  }
  model.SetCalls(std::move(calls));
}

std::set<std::pair<std::string, std::string>> RecordedFunctions(const onnx::ModelProto& model) {
  std::set<Function> functions;
  const absl::StatusOr<Record> record = Read(model);
  if (!record.ok()) return functions;
  for (const RecordedCall& recorded : record->calls) functions.emplace(recorded.call.domain, recorded.call.function);
  for (const auto& [copy, original] : record->copies) functions.insert(original);
  return functions;
}

}  // namespace amp
