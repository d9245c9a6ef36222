#include "passes/undo/undo_rewrite.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_join.h"
#include "ir/base/status.h"
#include "ir/file/copy_model.h"
#include "ir/file/model_file.h"
#include "ir/graph/attributes.h"
#include "ir/graph/check_order.h"
#include "ir/graph/check_types.h"
#include "ir/graph/control_flow.h"
#include "ir/graph/infer.h"
#include "ir/graph/node_paths.h"
#include "ir/graph/verify.h"
#include "ir/operators/operator_facts.h"
#include "ir/schema/schema.h"
#include "passes/record/rewrite_record.h"
#include "passes/report/annotate_nodes.h"
#include "passes/report/diff_models.h"
#include "passes/report/write_report.h"
#include "passes/train/step_metadata.h"
#include "passes/undo/restore_users_casts.h"

namespace amp {
namespace {

class Undo {
 public:
  Undo(Model& model, const RewriteRecord& record) : model_(model), record_(record), num_misfits_(record.num_misfits) {}

  absl::Status Run() {
    const std::vector<TypeFault> faults = FindTypeFaults(model_);
    const std::vector<NodeId> casts = CastsOfOurs();
    const std::vector<DType> outputs = OutputTypes();
    RestorePorts();
    RestoreBodies();
    AMP_RETURN_IF_ERROR(WidenConstants());
    RestoreAttributes();
    DropCopies();  // a later rewrite may have narrowed the original too
    num_misfits_ += RestoreUsersCasts(model_, record_.users_casts);  // graph outputs first get back their own producers
    RemoveCasts(casts);
    AMP_RETURN_IF_ERROR(UnscaleWeights());
    TakeUnitsBack();
    Verify(model_);
    AMP_RETURN_IF_ERROR(CheckOrder(model_));
    WidenFollowers(kMainGraph);
    model_.Commit();
    InferTypes(model_);
    RemoveRecord(model_);
    RemoveAnnotations(model_);
    model_.Commit();
    Verify(model_);
    AMP_RETURN_IF_ERROR(CheckTypes(model_, faults));
    AMP_RETURN_IF_ERROR(CheckAttributes());
    return CheckOutputs(outputs);
  }

  const std::vector<std::string>& removed() const { return removed_; }
  const std::vector<ValueId>& widened() const { return widened_; }  // constants
  int num_lost() const { return num_lost_; }
  int num_misfits() const { return num_misfits_; }
  int num_units_kept() const { return num_units_kept_; }

 private:
  // While types are those of the rewritten model.
  std::vector<NodeId> CastsOfOurs() {
    const auto may_be_ours = [&](ValueId id) {
      const DType type = model_.value(id).dtype;
      return type == DType::kUndefined || type == DType::kFloat32 || IsLowFloat(type);
    };
    std::vector<NodeId> casts;
    for (NodeId id : record_.casts) {
      const Node& node = model_.node(id);
      const bool is_ours = may_be_ours(node.Input(0)) && may_be_ours(node.Output(0));
      is_ours ? casts.push_back(id) : CountMisfit();
    }
    return casts;
  }

  std::vector<DType> OutputTypes() const {
    std::vector<DType> types;
    for (ValueId id : model_.graph(kMainGraph).outputs) types.push_back(model_.value(id).dtype);
    return types;
  }

  void CountMisfit() { ++num_misfits_; }

  void RestorePorts() {
    const Graph& main = model_.graph(kMainGraph);
    for (const std::string& name : record_.inputs) {
      const auto it = main.names.find(name);
      const Value* value = it == main.names.end() ? nullptr : &model_.value(it->second);
      const bool fits =
          value != nullptr && value->is_graph_input && IsLowFloat(value->dtype) && !value->IsInitializer();
      fits ? model_.SetTensorType(it->second, DType::kFloat32) : CountMisfit();
    }
    for (const std::string& name : record_.outputs) {
      bool fits = false;
      for (size_t i = 0; i < main.outputs.size(); ++i) {
        const Value& value = model_.value(main.outputs[i]);
        const bool is_input_too = value.is_graph_input && value.dtype == DType::kFloat32;  // by now
        if (value.name != name || !(IsLowFloat(value.dtype) || is_input_too)) continue;
        model_.SetGraphOutputType(i, DType::kFloat32);
        restored_outputs_.insert(i);
        fits = true;
      }
      if (!fits) CountMisfit();
    }
  }

  void RestoreBodies() {
    for (const RewriteRecord::BodyPort& port : record_.body_inputs) {
      const auto& inputs = model_.graph(port.body).inputs;
      const bool exists = port.port < inputs.size();
      const ValueId id = exists ? inputs[port.port] : kNone;
      const bool fits = exists && IsLowFloat(ElementType(model_.value(id)));
      fits ? model_.SetElementType(id, DType::kFloat32) : CountMisfit();
    }
    // Outputs of bodies and value_info follow from inference, and are written for graphs that were edited.
    for (const GraphId graph : model_.AllGraphs()) {
      if (model_.graph(graph).first != kNone) model_.EditProto(model_.graph(graph).first);
    }
  }

  bool IsLowConstant(ValueId id) const {
    const Value& value = model_.value(id);
    return value.is_tensor && IsLowFloat(value.dtype) && model_.IsConstant(id);
  }

  absl::Status WidenConstants() {
    absl::flat_hash_set<NodeId> kept;  // whose exact value is among the attributes
    for (const auto& attribute : record_.attributes) kept.insert(attribute.node);
    absl::flat_hash_set<ValueId> made;
    for (const UnitOperator& unit : record_.units) made.insert(unit.made.begin(), unit.made.end());
    for (ValueId id : record_.narrowed) {
      if (!IsLowConstant(id)) {
        CountMisfit();
        continue;
      }
      const bool is_made = made.contains(id);  // goes with its operator
      if (!is_made) widened_.push_back(id);
      const NodeId producer = model_.value(id).producer;
      if (producer != kNone && kept.contains(producer)) {
        model_.SetTensorType(id, DType::kFloat32);
        continue;
      }
      AMP_ASSIGN_OR_RETURN(onnx::TensorProto * tensor, WidenConstant(model_, id));
      ReplaceConstant(model_, id, tensor);
      if (!is_made) ++num_lost_;
    }
    return absl::OkStatus();
  }

  void RestoreAttributes() {
    for (const auto& attribute : record_.attributes) {
      const std::vector<std::string> editable = AttributesThatTypesEdit(model_.node(attribute.node));
      const bool may_edit = std::find(editable.begin(), editable.end(), attribute.name) != editable.end();
      if (!may_edit || !RestoreAttribute(model_, attribute.node, attribute.name, attribute.before)) CountMisfit();
    }
  }

  // Readers of low copies read the float32 originals again.
  void DropCopies() {
    for (const auto& [copy, original] : record_.copies) {
      if (!DropCopy(copy, original)) CountMisfit();
    }
  }

  bool DropCopy(ValueId copy, ValueId original) {
    const bool is_pair =
        IsLowConstant(copy) && model_.IsConstant(original) && model_.value(original).dtype == DType::kFloat32;
    const NodeId producer = model_.value(copy).producer;
    const bool is_gone = producer != kNone && (model_.node(producer).erased || !model_.node(producer).bodies.empty());
    if (!is_pair || is_gone) return false;
    model_.ReplaceUses(copy, original, [](const Use&) { return true; });
    if (!model_.value(copy).uses.empty()) return false;  // somebody made it a graph output
    if (model_.value(copy).IsInitializer()) {
      model_.RemoveInitializer(copy);
    } else {
      model_.Erase(producer);
    }
    return true;
  }

  void RemoveCasts(const std::vector<NodeId>& casts) {
    for (NodeId id : casts) {
      if (!RemoveCast(id)) {
        CountMisfit();
      } else {
        removed_.emplace_back(model_.NodeLabel(id));
      }
    }
  }

  absl::Status UnscaleWeights() {
    for (const ScaledProduct& scaled : record_.scaled) {
      AMP_ASSIGN_OR_RETURN(const bool fits, Unscale(model_, scaled));
      if (!fits) CountMisfit();
    }
    return absl::OkStatus();
  }

  // Once what they read is what it was. At another opset the nodes would mean something else.
  void TakeUnitsBack() {
    std::vector<ValueId> restored_constants;
    absl::flat_hash_map<std::string, ValueId> constants;  // by the names that they had
    for (const std::string& bytes : record_.constants) {
      const RestoredConstant restored = RestoreConstant(model_, bytes);
      const bool fits = restored.value != kNone && constants.emplace(restored.name, restored.value).second;
      if (!fits) CountMisfit();
      if (restored.value != kNone) restored_constants.push_back(restored.value);
    }
    for (UnitOperator unit : record_.units) {
      for (UnitOperator::Operand& operand : unit.operands) {
        const auto it = constants.find(operand.name);
        if (!operand.port && operand.value == kNone && it != constants.end()) operand.value = it->second;
      }
      if (unit.opset < model_.opset("")) {
        ++num_units_kept_;
      } else if (!TakeUnitBack(model_, unit)) {
        CountMisfit();
      }
    }
    if (!record_.units.empty()) model_.SetOpset("", model_.opset(""));  // looks schemas up
    for (const ValueId value : restored_constants) {
      if (model_.value(value).uses.empty()) model_.RemoveInitializer(value);
    }
  }

  bool RemoveCast(NodeId id) {
    if (model_.node(id).erased) return false;
    const ValueId source = model_.node(id).Input(0), out = model_.node(id).Output(0);
    if (model_.IsModelOutput(out)) {
      if (model_.value(source).producer == kNone || model_.IsModelOutput(source)) return false;
      model_.TakeOverGraphOutputs(out, source, model_.UniqueName(absl::StrCat(model_.value(source).name, "_undone")));
    }
    // A value whose type only its readers tell was float32, as it got a cast to the low type.
    if (model_.value(source).type == nullptr && IsLowFloat(model_.value(out).dtype)) {
      model_.SetTensorType(source, DType::kFloat32);
    }
    model_.ReplaceUses(out, source, [](const Use&) { return true; });
    model_.Erase(id);
    return true;
  }

  // Inference believes declarations where it knows nothing, behind calls of functions for one, and declarations are
  // written from these types: what is float32 by now reaches its followers first.
  void WidenFollowers(GraphId graph) {
    for (NodeId id : model_.NodesInOrder(graph)) {
      for (GraphId body : model_.node(id).bodies) WidenFollowers(body);
      for (const ValueId out : model_.node(id).PresentOutputs()) {
        if (!IsLowFloat(ElementType(model_.value(out)))) continue;
        if (FollowsFloat32(model_.node(id), out)) model_.SetElementType(out, DType::kFloat32);
      }
      const std::optional<ControlFlow> flow = DescribeControlFlow(model_, id);
      for (const auto& join : flow ? flow->outputs : std::vector<ControlFlow::Join>()) {
        const ValueId out = model_.node(id).outputs[join.node_port];
        const ValueId inner = model_.graph(join.body).outputs[join.body_port];
        const bool widens = out != kNone && IsLowFloat(ElementType(model_.value(out))) && IsFloat32(inner);
        if (widens) model_.SetElementType(out, DType::kFloat32);
      }
    }
  }

  bool IsFloat32(ValueId id) const { return ElementType(model_.value(id)) == DType::kFloat32; }

  // Whether an input of the same type variable is float32.
  bool FollowsFloat32(const Node& node, ValueId out) const {
    const bool keeps_type = KeepsElementType(node);
    if (node.schema == nullptr || node.schema->num_inputs() == 0 || node.schema->num_outputs() == 0) return false;
    const int variable = node.schema->OutputVariable(model_.value(out).producer_port);
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const bool is_joined = keeps_type || node.schema->InputVariable(i) == variable;
      if (node.inputs[i] != kNone && is_joined && IsFloat32(node.inputs[i])) return true;
    }
    return false;
  }

  absl::Status CheckAttributes() const {
    for (const auto& attribute : record_.attributes) {
      if (model_.node(attribute.node).erased || ChoosesItsType(model_.node(attribute.node))) continue;
      return absl::InternalError(absl::StrCat("node '", Escaped(NodePath(model_, attribute.node)),
                                              "': expected attributes that choose one type, found '",
                                              Escaped(attribute.name), "' changed or gone"));
    }
    return absl::OkStatus();
  }

  absl::Status CheckOutputs(const std::vector<DType>& before) const {
    const auto& outputs = model_.graph(kMainGraph).outputs;
    for (size_t i = 0; i < outputs.size(); ++i) {
      const Value& value = model_.value(outputs[i]);
      const DType expected = restored_outputs_.contains(i) ? DType::kFloat32 : before[i];
      if (value.dtype == expected || value.dtype == DType::kUndefined || expected == DType::kUndefined) continue;
      return absl::InternalError(absl::StrCat("graph output '", Escaped(value.name), "': expected ",
                                              DTypeName(expected), ", found ", DTypeName(value.dtype)));
    }
    return absl::OkStatus();
  }

  Model& model_;
  const RewriteRecord& record_;
  absl::flat_hash_set<size_t> restored_outputs_;
  std::vector<std::string> removed_;
  std::vector<ValueId> widened_;
  int num_lost_ = 0, num_misfits_ = 0, num_units_kept_ = 0;
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
  if (undo.num_units_kept() > 0) {
    notes.push_back(absl::StrCat(Plural(static_cast<size_t>(undo.num_units_kept()), "norm"), " stay",
                                 undo.num_units_kept() == 1 ? "s" : "",
                                 " one operator: written out, they were of an opset below ", model.opset("")));
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
  if (!record.replaced.empty()) {
    const bool is_one = record.replaced.size() == 1;
    notes.push_back(absl::StrCat(Plural(record.replaced.size(), "batch normalization"), is_one ? " stays" : " stay",
                                 " folded or a Mul and an Add, in float32: ", Escaped(record.replaced[0]),
                                 is_one ? "" : " and others"));
  }
  if (undo.num_misfits() > 0) {
    notes.push_back(absl::StrCat(Plural(static_cast<size_t>(undo.num_misfits()), "part"),
                                 " of the record no longer fit", undo.num_misfits() == 1 ? "s" : "",
                                 ": the model was edited since"));
  }
  return notes;
}

// The 16-bit types that nodes other than casts read. REQUIRES: types are inferred.
std::vector<std::string> TypesComputedIn(const Model& model) {
  std::vector<std::string> types;
  for (const DType low : {DType::kFloat16, DType::kBfloat16}) {
    for (const NodeId id : model.AllNodes()) {
      const Node& node = model.node(id);
      const auto is_low = [&](ValueId input) { return input != kNone && ElementType(model.value(input)) == low; };
      if (IsCast(node) || std::none_of(node.inputs.begin(), node.inputs.end(), is_low)) continue;
      types.emplace_back(DTypeName(low));
      break;
    }
  }
  return types;
}

// A warning, or none.
std::vector<std::string> SayWhatIsNotRecorded(const Model& model) {
  const std::vector<std::string> types = TypesComputedIn(model);
  if (types.empty()) return {};
  return {absl::StrCat("the model computes in ", absl::StrJoin(types, " and "),
                       " and stays so: it has no record of a rewrite (none is kept with --functions specialise)")};
}

void SayThatNothingIsRecorded(const Model& model, ReportWriter& writer, RewriteOutcome& undone) {
  undone.report = writer.Finish(model, false);
  for (std::string& warning : SayWhatIsNotRecorded(model)) undone.report.warnings.push_back(std::move(warning));
  undone.report.unchanged_because = "it has no record of a rewrite by this tool";
  undone.line = "Nothing to take back";
}

absl::Status Run(Undo& undo) {
  absl::Status status = undo.Run();
  if (status.code() != absl::StatusCode::kInternal) return status;
  return ModelError("metadata 'amp.rewrite' does not fit the model, which was edited since: ", status.message());
}

}  // namespace

absl::Status TakeBackIfRecorded(Model& model) {
  AMP_ASSIGN_OR_RETURN(const std::optional<RewriteRecord> record, ReadRecord(model));
  if (!record.has_value()) return absl::OkStatus();
  Undo undo(model, *record);
  AMP_RETURN_IF_ERROR(Run(undo));
  model.AddWarning(absl::StrCat("the conversion to ", absl::StrJoin(record->types, " and "),
                                " is taken back before the training step is made"));
  for (const std::string& note : WhatStays(model, *record, undo)) model.AddWarning(note);
  return absl::OkStatus();
}

absl::Status TakeBackFile(LoadedFile& file) {
  AMP_ASSIGN_OR_RETURN(const std::unique_ptr<Model> model,
                       Model::Create(std::move(file.arena), file.model, nullptr, file.weights()));
  InferTypes(*model);
  AMP_ASSIGN_OR_RETURN(const std::optional<RewriteRecord> record, ReadRecord(*model));
  std::vector<std::string> notes;
  if (record.has_value()) {
    Undo undo(*model, *record);
    AMP_RETURN_IF_ERROR(Run(undo));
    SetStepType(*model, DType::kFloat32);
    model->Commit();
    notes = WhatStays(*model, *record, undo);
  } else {
    notes = SayWhatIsNotRecorded(*model);
  }
  AMP_ASSIGN_OR_RETURN(LoadedFile taken_back, CopyModel(model->proto(), model->weights(), file.external));
  file.arena = std::move(taken_back.arena);
  file.model = taken_back.model;
  file.warnings.insert(file.warnings.end(), notes.begin(), notes.end());
  return absl::OkStatus();
}

absl::StatusOr<RewriteOutcome> UndoRewrite(LoadedFile& file, std::shared_ptr<const OpSignatures> signatures,
                                           const RewriteSettings& settings) {
  RewriteOutcome undone;
  AMP_ASSIGN_OR_RETURN(undone.model,
                       Model::Create(std::move(file.arena), file.model, std::move(signatures), file.weights()));
  Model& model = *undone.model;
  if (settings.on_stage) AMP_RETURN_IF_ERROR(settings.on_stage(Stage::kLoad));
  AMP_RETURN_IF_ERROR(settings.MayGoOn());
  InferTypes(model);
  AMP_RETURN_IF_ERROR(settings.MayGoOn());
  ReportWriter writer;
  writer.Begin(model, DType::kFloat32, "any");
  AMP_ASSIGN_OR_RETURN(const std::optional<RewriteRecord> record, ReadRecord(model));
  if (!record.has_value()) {
    SayThatNothingIsRecorded(model, writer, undone);
    return undone;
  }
  ModelListing before;
  if (settings.diff) before = ListModel(model);
  Undo undo(model, *record);
  AMP_RETURN_IF_ERROR(Run(undo));
  SetStepType(model, DType::kFloat32);
  undone.is_edited = model.edited();
  if (settings.diff) undone.diff = DiffListings(before, ListModel(model));
  for (std::string& note : WhatStays(model, *record, undo)) writer.AddAdvice(std::move(note));
  Report& report = undone.report;
  report = writer.Finish(model, true);
  report.removed_casts = undo.removed();
  for (ValueId id : undo.widened()) report.widened_weights.push_back(model.value(id).name);
  undone.line = absl::StrCat("Took back the conversion to ", absl::StrJoin(record->types, " and "), ": removed ",
                             Plural(undo.removed().size(), "cast"), ", widened ",
                             Plural(undo.widened().size(), "weight"), "; ", WeightsLine(report));
  return undone;
}

}  // namespace amp
