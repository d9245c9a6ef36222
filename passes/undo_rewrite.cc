#include "passes/undo_rewrite.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_join.h"
#include "ir/attributes.h"
#include "ir/infer.h"
#include "ir/operator_facts.h"
#include "ir/status.h"
#include "passes/diff_models.h"
#include "passes/rewrite_record.h"
#include "passes/write_report.h"

namespace amp {
namespace {

class Undo {
 public:
  Undo(Model& model, const RewriteRecord& record, ExternalData* external, PendingTensors& pending)
      : model_(model), record_(record), external_(external), pending_(pending) {}

  absl::Status Run() {
    FindNames();
    RestorePorts();
    RestoreBodies();
    AMP_RETURN_IF_ERROR(WidenConstants());
    RestoreAttributes();
    DropCopies();  // a later rewrite may have narrowed the original too
    RemoveCasts();
    RestoreUsersCasts();
    model_.Commit();  // inference believes what bodies declare
    InferTypes(model_);
    RemoveRecord(model_);
    model_.Commit();
    return CheckTypes(model_);
  }

  const std::vector<std::string>& removed() const { return removed_; }
  int num_widened() const { return num_widened_; }
  int num_lost() const { return num_lost_; }
  int num_misfits() const { return num_misfits_; }

 private:
  void FindNames() {
    for (NodeId id = 0; id < model_.num_nodes(); ++id) {
      if (!model_.node(id).name().empty()) nodes_[std::string(model_.node(id).name())] = id;
    }
    for (ValueId id = 0; id < model_.num_values(); ++id) values_[model_.value(id).name].push_back(id);
  }

  const std::vector<ValueId>& Values(const std::string& name) {
    static const std::vector<ValueId> kNothing;
    const auto it = values_.find(name);
    if (it == values_.end()) ++num_misfits_;
    return it == values_.end() ? kNothing : it->second;
  }

  void RestorePorts() {
    const Graph& main = model_.graph(kMainGraph);
    const absl::flat_hash_set<std::string> inputs(record_.inputs.begin(), record_.inputs.end());
    const absl::flat_hash_set<std::string> outputs(record_.outputs.begin(), record_.outputs.end());
    for (ValueId id : main.inputs) {
      const Value& value = model_.value(id);
      if (inputs.contains(value.name) && IsLowFloat(value.dtype) && !value.IsInitializer())
        model_.SetTensorType(id, DType::kFloat32);
    }
    for (size_t i = 0; i < main.outputs.size(); ++i) {
      const Value& value = model_.value(main.outputs[i]);
      if (!outputs.contains(value.name)) continue;
      model_.SetGraphOutputType(static_cast<int>(i), DType::kFloat32);
    }
  }

  void RestoreBodies() {
    for (const RewriteRecord::BodyPort& port : record_.body_inputs) {
      const GraphId body = BodyOf(port);
      const bool exists =
          body != kNone && port.port >= 0 && port.port < static_cast<int>(model_.graph(body).inputs.size());
      const ValueId id = exists ? model_.graph(body).inputs[static_cast<size_t>(port.port)] : kNone;
      if (id != kNone && IsLowFloat(ElementType(model_.value(id)))) model_.SetElementType(id, DType::kFloat32);
    }
    // Outputs of bodies and value_info follow from inference, and are written for graphs that were edited.
    for (GraphId graph = 0; graph < model_.num_graphs(); ++graph) {
      if (model_.graph(graph).first != kNone) model_.EditProto(model_.graph(graph).first);
    }
  }

  bool IsLowConstant(ValueId id) const {
    const Value& value = model_.value(id);
    return value.is_tensor && IsLowFloat(value.dtype) && model_.IsConstant(id);
  }

  // Readers of low copies read the float32 originals again.
  void DropCopies() {
    for (const auto& [copy_name, original_name] : record_.copies) {
      const std::vector<ValueId> copies = Values(copy_name);
      for (ValueId copy : copies) {
        const ValueId original = ConstantNamed(original_name, model_.value(copy).graph);
        if (!IsLowConstant(copy) || original == kNone) {
          ++num_misfits_;
          continue;
        }
        model_.ReplaceUses(copy, original, [](const Use&) { return true; });
        if (!model_.value(copy).uses.empty()) {
          ++num_misfits_;  // somebody made it a graph output
        } else if (model_.value(copy).IsInitializer()) {
          model_.RemoveInitializer(copy);
        } else {
          model_.Erase(model_.value(copy).producer);
        }
      }
    }
  }

  // The one in `graph`, else in the nearest graph around it.
  ValueId ConstantNamed(const std::string& name, GraphId graph) {
    const std::vector<ValueId>& found = Values(name);
    for (GraphId scope = graph;;) {
      for (ValueId id : found) {
        if (model_.value(id).graph == scope && model_.value(id).dtype == DType::kFloat32) return id;
      }
      const NodeId owner = model_.graph(scope).owner;
      if (owner == kNone) return kNone;
      scope = model_.node(owner).graph;
    }
  }

  absl::Status WidenConstants() {
    absl::flat_hash_set<std::string> kept;  // whose exact value is among the attributes
    for (const auto& attribute : record_.attributes) kept.insert(attribute.output);
    for (const std::string& name : record_.narrowed) {
      for (ValueId id : Values(name)) {
        if (!IsLowConstant(id)) continue;
        if (kept.contains(name)) {
          model_.SetTensorType(id, DType::kFloat32);
          ++num_widened_;
          continue;
        }
        AMP_ASSIGN_OR_RETURN(onnx::TensorProto * tensor, WidenConstant(model_, id, external_, pending_));
        DropPayload(model_, id);
        if (model_.value(id).IsInitializer()) {
          model_.ReplaceInitializer(id, tensor);
        } else {
          AdoptTensor(model_, model_.value(id).producer, "value", tensor);
          model_.SetTensorType(id, DType::kFloat32);
        }
        ++num_widened_;
        ++num_lost_;
      }
    }
    return absl::OkStatus();
  }

  void RestoreAttributes() {
    for (const auto& attribute : record_.attributes) {
      for (ValueId id : Values(attribute.output)) {
        const NodeId node = model_.value(id).producer;
        if (node == kNone) continue;
        const std::vector<std::string> editable = AttributesThatTypesEdit(model_.node(node));
        const bool may_edit = std::find(editable.begin(), editable.end(), attribute.name) != editable.end();
        if (!may_edit || !RestoreAttribute(model_, node, attribute.name, attribute.before)) ++num_misfits_;
      }
    }
  }

  void RemoveCasts() {
    for (const std::string& name : record_.casts) {
      const auto it = nodes_.find(name);
      if (it == nodes_.end() || !RemoveCast(it->second)) {
        ++num_misfits_;
      } else {
        removed_.push_back(name);
      }
    }
  }

  bool RemoveCast(NodeId id) {
    const Node& node = model_.node(id);
    if (node.erased || !IsCast(node) || node.inputs.empty() || node.inputs[0] == kNone || node.outputs.empty() ||
        node.outputs[0] == kNone) {
      return false;
    }
    const ValueId source = node.inputs[0], out = node.outputs[0];
    if (model_.IsModelOutput(out)) {
      if (model_.value(source).producer == kNone || model_.IsModelOutput(source)) return false;
      model_.TakeOverGraphOutputs(out, source, model_.UniqueName(absl::StrCat(model_.value(source).name, "_undone")));
    }
    // What only its readers tell the type of was float32 to get a cast to the low type.
    if (model_.value(source).type == nullptr && IsLowFloat(model_.value(out).dtype)) {
      model_.SetTensorType(source, DType::kFloat32);
    }
    model_.ReplaceUses(out, source, [](const Use&) { return true; });
    model_.Erase(id);
    return true;
  }

  void RestoreUsersCasts() {
    for (const auto& cast : record_.bypassed_casts) {
      for (ValueId source : Values(cast.source)) RestoreUsersCast(source, cast);
    }
  }

  void RestoreUsersCast(ValueId source, const RewriteRecord::BypassedCast& cast) {
    const ValueId out = UsersCastOf(source, cast);
    for (const auto& output : cast.body_outputs) RestoreBodyOutput(source, out, output);
    for (const auto& [reader, port] : cast.readers) {
      for (ValueId id : Values(reader)) {
        const NodeId consumer = model_.value(id).producer;
        if (consumer == kNone || port < 0 || port >= static_cast<int>(model_.node(consumer).inputs.size())) continue;
        if (model_.node(consumer).inputs[static_cast<size_t>(port)] == source) model_.SetInput(consumer, port, out);
      }
    }
  }

  void RestoreBodyOutput(ValueId source, ValueId out, const RewriteRecord::BodyPort& output) {
    const GraphId body = BodyOf(output);
    if (body == kNone) return;
    model_.ReplaceUses(source, out, [&](const Use& use) {
      return use.IsGraphOutput() && use.graph == body && use.port == output.port;
    });
  }

  GraphId BodyOf(const RewriteRecord::BodyPort& port) {
    for (ValueId id : Values(port.owner)) {
      const NodeId owner = model_.value(id).producer;
      if (owner == kNone || port.body < 0 || port.body >= static_cast<int>(model_.node(owner).bodies.size())) continue;
      return model_.node(owner).bodies[static_cast<size_t>(port.body)];
    }
    return kNone;
  }

  // The output of the cast, which is made anew where it is gone.
  ValueId UsersCastOf(ValueId source, const RewriteRecord::BypassedCast& cast) {
    for (const Use& use : model_.value(source).uses) {
      if (use.IsGraphOutput() || !IsCast(model_.node(use.node))) continue;
      const ValueId out = model_.node(use.node).outputs[0];
      if (model_.value(out).name == cast.output) return out;
    }
    const bool took_name_over = cast.source == cast.output;  // the source became the graph output that the cast was
    Model::NewNode spec;
    spec.op_type = "Cast";
    spec.inputs = {source};
    const std::string output = model_.UniqueName(took_name_over ? absl::StrCat(cast.output, "_undone") : cast.output);
    spec.outputs = {output};
    spec.name = cast.name;
    const GraphId scope = cast.scope.owner.empty() ? kNone : BodyOf(cast.scope);
    const NodeId node = scope == kNone
                            ? model_.InsertAfter(model_.value(source).graph, model_.value(source).producer, spec)
                            : model_.InsertAfter(scope, kNone, spec);
    SetDType(model_, node, "to", cast.to);
    const ValueId out = model_.node(node).outputs[0];
    if (took_name_over && model_.IsModelOutput(source)) model_.TakeOverGraphOutputs(source, out, cast.input);
    return out;
  }

  Model& model_;
  const RewriteRecord& record_;
  ExternalData* external_;
  PendingTensors& pending_;
  absl::flat_hash_map<std::string, NodeId> nodes_;
  absl::flat_hash_map<std::string, std::vector<ValueId>> values_;  // of all scopes, as the record knows them
  std::vector<std::string> removed_;
  int num_widened_ = 0, num_lost_ = 0, num_misfits_ = 0;
};

std::string Plural(size_t count, absl::string_view noun) {
  return absl::StrCat(count, " ", noun, count == 1 ? "" : "s");
}

std::vector<std::string> WhatStays(const Model& model, const RewriteRecord& record, const Undo& undo) {
  std::vector<std::string> notes;
  const std::string types = absl::StrJoin(record.types, " and ");
  if (undo.num_lost() > 0) {
    notes.push_back(absl::StrCat(Plural(static_cast<size_t>(undo.num_lost()), "weight"), " keep",
                                 undo.num_lost() == 1 ? "s" : "", " the rounding of ", types,
                                 ": the float32 values are not in the file"));
  }
  if (model.opset("") != record.opset) {
    notes.push_back(
        absl::StrCat("the opset stays ", model.opset(""), ": lifting it from ", record.opset, " is not taken back"));
  }
  if (!record.inlined.empty()) {
    notes.push_back(absl::StrCat(Plural(record.inlined.size(), "function"), " stay",
                                 record.inlined.size() == 1 ? "s" : "", " inlined: ", Escaped(record.inlined[0]),
                                 record.inlined.size() > 1 ? " and others" : ""));
  }
  if (!record.frozen.empty()) {
    notes.push_back(absl::StrCat(Plural(record.frozen.size(), "initializer"), " stay",
                                 record.frozen.size() == 1 ? "s" : "", " frozen: callers can no longer override ",
                                 Escaped(record.frozen[0]), record.frozen.size() > 1 ? " and others" : ""));
  }
  if (undo.num_misfits() > 0) {
    notes.push_back(absl::StrCat(undo.num_misfits(), " parts of the record no longer fit: the model was edited since"));
  }
  return notes;
}

}  // namespace

absl::StatusOr<RewriteOutcome> UndoRewrite(Model& model, ExternalData* external, bool diff) {
  RewriteOutcome undone;
  InferTypes(model);
  ReportWriter writer;
  writer.Begin(model, DType::kFloat32, "any");
  AMP_ASSIGN_OR_RETURN(const std::optional<RewriteRecord> record, ReadRecord(model));
  if (!record.has_value()) {
    undone.report = writer.Finish(model, false);
    undone.report.unchanged_because = "it has no record of a rewrite by this tool";
    undone.line = "Nothing to take back";
    return undone;
  }
  ModelListing before;
  if (diff) before = ListModel(model);
  Undo undo(model, *record, external, undone.pending);
  if (const absl::Status status = undo.Run(); !status.ok()) {
    if (status.code() != absl::StatusCode::kInternal) return status;
    return ModelError("metadata 'amp.rewrite' does not fit the model, which was edited since: ", status.message());
  }
  if (diff) undone.diff = DiffListings(before, ListModel(model));
  for (std::string& note : WhatStays(model, *record, undo)) writer.AddAdvice(std::move(note));
  Report& report = undone.report;
  report = writer.Finish(model, true);
  report.removed_casts = undo.removed();
  undone.line = absl::StrCat("Took back the conversion to ", absl::StrJoin(record->types, " and "), ": removed ",
                             Plural(undo.removed().size(), "cast"), ", widened ",
                             Plural(static_cast<size_t>(undo.num_widened()), "weight"), "; ", WeightsLine(report));
  return undone;
}

}  // namespace amp
