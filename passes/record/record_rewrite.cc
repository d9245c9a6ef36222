#include "passes/record/record_rewrite.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "ir/file/description.h"
#include "ir/graph/attributes.h"
#include "ir/operators/operator_facts.h"

namespace amp {
namespace {

// Small constants keep their exact value; larger ones can only be widened again.
constexpr size_t kLargestKeptAttribute = 256;

bool IsFloatCast(const Model& model, NodeId id) {
  if (!IsPlainCast(model, id)) return false;
  const Node& node = model.node(id);
  const auto is_float = [](DType type) { return type == DType::kFloat32 || IsLowFloat(type); };
  return is_float(model.value(node.Input(0)).dtype) && is_float(model.value(node.Output(0)).dtype);
}

ValueId ReadBy(const Model& model, const Use& use) {
  return use.IsGraphOutput() ? model.graph(use.graph).outputs[use.port] : model.node(use.node).inputs[use.port];
}

}  // namespace

void RewriteRecorder::Begin(const Model& model, const InlinedFunctions* inlined) {
  *this = RewriteRecorder();
  // A record that cannot be read is as good as none; the loaded model's own checks have passed.
  absl::StatusOr<std::optional<RewriteRecord>> earlier = ReadRecord(model);
  if (earlier.ok() && earlier->has_value()) {
    record_ = **std::move(earlier);
  } else {
    record_.opset = inlined != nullptr && inlined->opset_before > 0 ? inlined->opset_before : model.opset("");
    record_.ir_version = model.ir_version();
  }
  if (inlined != nullptr) {
    record_.inlined.insert(record_.inlined.end(), inlined->functions.begin(), inlined->functions.end());
  }
  ours_.insert(record_.casts.begin(), record_.casts.end());
  copied_from_.insert(record_.copies.begin(), record_.copies.end());
  for (ValueId id : model.graph(kMainGraph).inputs) {
    if (model.value(id).IsInitializer() && !model.IsConstant(id)) overridable_.push_back(model.value(id).name);
  }
}

// Returns the value ahead of all casts and copies that earlier rewrites made. A cast's input stays known when the cast
// is erased.
ValueId RewriteRecorder::BeforeOurs(const Model& model, ValueId value) const {
  while (value != kNone && ours_.contains(model.value(value).producer)) {
    value = model.node(model.value(value).producer).Input(0);
  }
  const auto it = copied_from_.find(value);
  return it == copied_from_.end() ? value : it->second;
}

// Outputs of the main graph are left out: whoever takes one over has its name (fold_casts.cc).
std::vector<Use> RewriteRecorder::ReadersBehindOurs(const Model& model, ValueId value) const {
  std::vector<Use> readers;
  std::vector<ValueId> stack = {value};
  while (!stack.empty()) {
    const ValueId from = stack.back();
    stack.pop_back();
    for (const Use& use : model.value(from).uses) {
      if (!use.IsGraphOutput() && ours_.contains(use.node)) {
        stack.push_back(model.node(use.node).Output(0));
      } else if (!use.IsModelOutput()) {
        readers.push_back(use);
      }
    }
  }
  return readers;
}

void RewriteRecorder::BeforeCasts(const Model& model) {
  const Graph& main = model.graph(kMainGraph);
  const auto is_float32 = [&](ValueId id) { return model.value(id).dtype == DType::kFloat32; };
  std::transform(main.inputs.begin(), main.inputs.end(), std::back_inserter(float32_inputs_), is_float32);
  std::transform(main.outputs.begin(), main.outputs.end(), std::back_inserter(float32_outputs_), is_float32);
  for (const GraphId graph : model.AllGraphs()) {
    if (graph == kMainGraph) continue;
    const std::vector<ValueId>& inputs = model.graph(graph).inputs;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (ElementType(model.value(inputs[i])) == DType::kFloat32) body_inputs_.push_back({graph, i});
    }
  }
  for (const NodeId id : model.AllNodes()) {
    const Node& node = model.node(id);
    for (std::string& name : AttributesThatTypesEdit(node)) {
      std::optional<std::string> bytes = SerializeAttribute(node, name);
      const bool is_large = bytes && bytes->size() > kLargestKeptAttribute;
      if (is_large && model.IsConstant(node.Output(0))) break;  // widened; its other forms are absent
      attributes_.push_back({id, std::move(name), std::move(bytes)});
    }
    if (!IsFloatCast(model, id) || ours_.contains(id)) continue;
    const Value& out = model.value(node.Output(0));
    const ValueId source = BeforeOurs(model, node.Input(0));
    casts_.push_back(
        {id, source, model.value(source).name, out.name, out.dtype, ReadersBehindOurs(model, node.Output(0))});
  }
}

Reason RewriteRecorder::Finish(Model& model, DType low, const std::vector<InsertedCast>& casts,
                               const std::vector<NarrowedWeight>& weights) {
  const std::string type(DTypeName(low));
  if (std::find(record_.types.begin(), record_.types.end(), type) == record_.types.end()) record_.types.push_back(type);
  for (const InsertedCast& cast : casts) {
    record_.casts.push_back(cast.node);
    ours_.insert(cast.node);
  }
  std::erase_if(record_.casts, [&](NodeId id) { return model.node(id).erased; });
  for (const NarrowedWeight& weight : weights) {
    if (weight.low_copy == kNone) {
      record_.narrowed.push_back(weight.value);
    } else {
      record_.copies.emplace_back(weight.low_copy, weight.value);
    }
  }
  RecordPorts(model);
  RecordAttributes(model);
  RecordUsersCasts(model);
  return WriteRecord(model, record_);
}

void RewriteRecorder::RecordPorts(const Model& model) {
  const Graph& main = model.graph(kMainGraph);
  const auto add_ports = [&](const std::vector<ValueId>& values, const std::vector<bool>& was_float32,
                             std::vector<std::string>& names) {
    for (size_t i = 0; i < values.size() && i < was_float32.size(); ++i) {
      const Value& value = model.value(values[i]);
      if (was_float32[i] && IsLowFloat(value.dtype) && !value.IsInitializer()) names.push_back(value.name);
    }
  };
  add_ports(main.inputs, float32_inputs_, record_.inputs);
  add_ports(main.outputs, float32_outputs_, record_.outputs);
  for (const RewriteRecord::BodyPort& input : body_inputs_) {
    const ValueId id = model.graph(input.body).inputs[input.port];
    if (IsLowFloat(ElementType(model.value(id)))) record_.body_inputs.push_back(input);
  }
  absl::flat_hash_set<std::string> inputs_now;
  for (ValueId id : main.inputs) inputs_now.insert(model.value(id).name);
  for (const std::string& name : overridable_) {
    if (!inputs_now.contains(name)) record_.frozen.push_back(name);
  }
}

void RewriteRecorder::RecordAttributes(const Model& model) {
  absl::flat_hash_set<std::pair<NodeId, std::string>> known;
  for (const auto& attribute : record_.attributes) known.emplace(attribute.node, attribute.name);
  for (RewriteRecord::Attribute& seen : attributes_) {
    const Node& node = model.node(seen.node);
    if (node.erased || SerializeAttribute(node, seen.name) == seen.before) continue;
    if (known.emplace(seen.node, seen.name).second) record_.attributes.push_back(std::move(seen));  // the first counts
  }
}

void RewriteRecorder::RecordUsersCasts(const Model& model) {
  std::vector<RewriteRecord::UsersCast>& known = record_.users_casts;
  absl::flat_hash_map<NodeId, size_t> position_of;  // of every cast that is or was a node of this model
  for (size_t i = 0; i < known.size(); ++i) {
    if (known[i].node != kNone) position_of[known[i].node] = i;
  }
  for (SeenCast& seen : casts_) {
    const Node& node = model.node(seen.node);
    const auto is_as_before = [&](const Use& use) {
      if (!use.IsGraphOutput() && model.node(use.node).erased) return true;  // another cast: has an entry of its own
      return BeforeOurs(model, ReadBy(model, use)) == node.Output(0);
    };
    std::erase_if(seen.readers, is_as_before);
    if (!node.erased && seen.readers.empty()) continue;
    const auto [it, is_new] = position_of.try_emplace(seen.node, known.size());
    if (is_new) known.emplace_back().node = seen.node;
    RewriteRecord::UsersCast& cast = known[it->second];
    cast.readers.insert(cast.readers.end(), seen.readers.begin(), seen.readers.end());
    if (!node.erased) continue;
    cast.node = kNone;
    cast.name = std::string(node.name());
    cast.description = SerializeDescription(*node.proto);
    cast.output = seen.output_name;
    cast.to = seen.to;
    cast.graph = node.graph;
    cast.source = seen.source;
    cast.source_name = seen.source_name;
  }
  // Casts that an earlier rewrite bypassed and left in the graph, and that are gone now.
  for (size_t i = 0; i < known.size(); ++i) {
    const auto stands_on_it = [&](const Use& use) {
      if (use.IsGraphOutput() || !model.node(use.node).erased) return false;
      const auto it = position_of.find(use.node);
      if (it == position_of.end()) return false;
      RewriteRecord::UsersCast& reader = known[it->second];
      reader.source = known[i].node == kNone ? kNone : model.node(known[i].node).Output(0);
      if (known[i].node == kNone) reader.source_cast = i;
      if (reader.source != kNone) reader.source_name = model.value(reader.source).name;
      return true;
    };
    std::erase_if(known[i].readers, stands_on_it);
  }
  for (RewriteRecord::UsersCast& cast : known) {
    if (cast.source == kNone) continue;
    const auto it = position_of.find(model.value(cast.source).producer);
    if (it == position_of.end() || known[it->second].node != kNone) continue;
    cast.source = kNone;
    cast.source_cast = it->second;
  }
}

}  // namespace amp
