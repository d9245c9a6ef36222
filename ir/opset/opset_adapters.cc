#include "ir/opset/opset_adapters.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "ir/base/check.h"
#include "ir/base/status.h"
#include "ir/file/model_walk.h"
#include "ir/opset/opset_steps.h"
#include "ir/schema/opset_imports.h"
#include "ir/schema/schema.h"
#include "onnx/defs/schema.h"
#include "onnx/onnx_pb.h"

namespace amp {
namespace {

using onnx::FunctionProto;
using Parameters = std::vector<onnx::OpSchema::FormalParameter>;

constexpr int kNewestAdaptedOpset = 25;
// The first IR version whose constants are no inputs, so that edits can add some without adding inputs.
constexpr int kIrVersionOfConstants = 4;

// The change of an operator from one opset to the next.
struct Change {
  enum class Kind { kNone, kSameForm, kFewerTypes, kEdit, kNotAdapted } kind = Kind::kNone;
  const OpSchema* older = nullptr;
  const OpSchema* newer = nullptr;
  const OpsetStep* step = nullptr;
  Reason why_not = Reason::None();
};

bool SameAttributes(const onnx::OpSchema& older, const onnx::OpSchema& newer) {
  if (older.attributes().size() != newer.attributes().size()) return false;
  for (const auto& [name, a] : older.attributes()) {
    const auto it = newer.attributes().find(name);
    if (it == newer.attributes().end()) return false;
    const auto& b = it->second;
    if (a.type != b.type || a.required != b.required) return false;
    if (a.default_value.SerializeAsString() != b.default_value.SerializeAsString()) return false;
  }
  return true;
}

bool SamePorts(const Parameters& older, const Parameters& newer) {
  return older.size() == newer.size() &&
         std::equal(older.begin(), older.end(), newer.begin(), [](const auto& a, const auto& b) {
           return std::make_tuple(a.GetOption(), a.GetIsHomogeneous(), a.GetMinArity()) ==
                  std::make_tuple(b.GetOption(), b.GetIsHomogeneous(), b.GetMinArity());
         });
}

bool TypesOnlyWiden(const Parameters& older, const Parameters& newer) {
  for (size_t i = 0; i < std::min(older.size(), newer.size()); ++i) {
    for (const auto& type : older[i].GetTypes()) {
      if (newer[i].GetTypes().count(type) == 0) return false;
    }
  }
  return true;
}

const OpsetStep* FindStep(absl::string_view op_type, int from, int to) {
  for (const OpsetStep& step : OpsetSteps()) {
    if (step.op_type == op_type && step.from == from && step.to == to) return &step;
  }
  return nullptr;
}

Change Compare(absl::string_view op_type, int opset) {
  Change change;
  change.older = FindOpSchema("", op_type, opset - 1);
  change.newer = FindOpSchema("", op_type, opset);
  if (change.older == change.newer && change.older != nullptr) return change;
  change.kind = Change::Kind::kNotAdapted;
  if (change.older == nullptr || change.newer == nullptr) {
    change.why_not =
        absl::StrCat("ONNX does not define the operator at opset ", change.older == nullptr ? opset - 1 : opset);
    return change;
  }
  const int from = change.older->since_version(), to = change.newer->since_version();
  change.step = FindStep(op_type, from, to);
  const onnx::OpSchema &older = *change.older->onnx(), &newer = *change.newer->onnx();
  if (change.step != nullptr && change.step->edit != nullptr) {
    change.kind = Change::Kind::kEdit;
    return change;
  }
  const bool same_form = change.step != nullptr ||
                         (!newer.deprecated() && SameAttributes(older, newer) &&
                          SamePorts(older.inputs(), newer.inputs()) && SamePorts(older.outputs(), newer.outputs()));
  if (!same_form) {
    change.why_not = absl::StrCat("no adapter from version ", from, " to ", to);
    return change;
  }
  const bool widen = TypesOnlyWiden(older.inputs(), newer.inputs()) && TypesOnlyWiden(older.outputs(), newer.outputs());
  change.kind = widen ? Change::Kind::kSameForm : Change::Kind::kFewerTypes;
  return change;
}

// Compare() once per operator and opset.
class Changes {
 public:
  const Change& At(absl::string_view op_type, int opset) {
    auto [it, is_new] = known_.try_emplace({std::string(op_type), opset});
    if (is_new) it->second = Compare(op_type, opset);
    return it->second;
  }

 private:
  absl::flat_hash_map<std::pair<std::string, int>, Change> known_;
};

// Why the newer version does not take the types that the node has.
Reason ObstacleOfTypes(const Model& model, const Node& node, const OpSchema& newer) {
  const auto refused = [&](ValueId id, int variable) {
    return id != kNone && (!model.value(id).is_tensor || !newer.Allows(variable, model.value(id).dtype));
  };
  bool any = false;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    any |= refused(node.inputs[i], newer.InputVariable(i));
  }
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    any |= refused(node.outputs[i], newer.OutputVariable(i));
  }
  if (!any) return Reason::None();
  return absl::StrCat("version ", newer.since_version(), " does not take its types");
}

bool IsOnnx(absl::string_view domain) { return CanonicalDomain(domain).empty(); }

// The first opset that defines the operator; 0 if none does.
int FirstOpset(absl::string_view op_type) {
  for (int opset = 1; opset <= kNewestAdaptedOpset; ++opset) {
    if (FindOpSchema("", op_type, opset) != nullptr) return opset;
  }
  return 0;
}

// Why a node that ONNX does not define at the model's opset has no newer form.
Reason WhyUndefined(const Model& model, NodeId id) {
  const std::string op_type = Escaped(model.node(id).op_type());
  const int opset = model.opset(""), first = FirstOpset(model.node(id).op_type());
  return absl::StrCat("node '", Escaped(model.NodeLabel(id)), "': ONNX has no ", op_type,
                      first > opset ? absl::StrCat(" before opset ", first, " and the model imports ", opset)
                                    : absl::StrCat(" at opset ", opset, ", which the model imports"),
                      ", so it cannot be lifted");
}

// Returns how the node violates its schema. Edits rely on the schema's form. REQUIRES: it has a schema.
Reason SchemaViolation(const Node& node) {
  const onnx::OpSchema& schema = *node.schema->onnx();
  const auto counts = [](size_t count, int least, int most) {
    return static_cast<int>(count) >= least && static_cast<int>(count) <= most;
  };
  if (!counts(node.inputs.size(), schema.min_input(), schema.max_input()) ||
      !counts(node.outputs.size(), schema.min_output(), schema.max_output())) {
    return "its number of inputs or outputs is wrong";
  }
  const auto present = [](const auto& values, const Parameters& ports) {
    for (size_t i = 0; i < std::min(values.size(), ports.size()); ++i) {
      if (values[i] == kNone && ports[i].GetOption() == onnx::OpSchema::Single) return false;
    }
    return true;
  };
  if (!present(node.inputs, schema.inputs()) || !present(node.outputs, schema.outputs())) {
    return "a required input or output is absent";
  }
  absl::flat_hash_map<absl::string_view, onnx::AttributeProto::AttributeType> kinds;
  for (const auto& attribute : node.proto->attribute()) kinds[attribute.name()] = attribute.type();
  for (const auto& [name, attribute] : schema.attributes()) {
    const auto it = kinds.find(name);
    if (it == kinds.end() ? attribute.required : it->second != attribute.type) {
      return absl::StrCat("its attribute ", name, " is missing or of the wrong kind");
    }
  }
  return Reason::None();
}

// Why the new form is not right yet at `limit`.
Reason NeedsLaterOpset(const Model& model, NodeId id, const Change& change, int limit) {
  if (change.step == nullptr || change.step->settles == nullptr) return Reason::None();
  const int first = change.step->settles(model, id);
  if (first <= limit) return Reason::None();
  return absl::StrCat("its new form takes what only opset ", first, " has");
}

// The highest opset in [from, limit] that the node can be lifted to; `why` when it is below `limit`.
int ReachOfNode(const Model& model, NodeId id, int from, int limit, Changes& changes, Reason& why) {
  const Node& node = model.node(id);
  if (limit <= from) return limit;
  if (node.schema == nullptr) {
    why = WhyUndefined(model, id);
    return from;
  }
  absl::string_view op_type = node.op_type();
  const Reason violation = SchemaViolation(node);
  for (int opset = from + 1; opset <= limit; ++opset) {
    const Change& change = changes.At(op_type, opset);
    Reason refusal = violation ? violation : change.why_not;
    if (change.step != nullptr && change.step->check != nullptr && !refusal) refusal = change.step->check(model, id);
    if (change.kind == Change::Kind::kFewerTypes && !refusal) refusal = ObstacleOfTypes(model, node, *change.newer);
    if (!refusal) refusal = NeedsLaterOpset(model, id, change, limit);
    if (refusal) {
      why = absl::StrCat(Escaped(model.NodeLabel(id)), " (", Escaped(op_type), ") at opset ", opset, ": ",
                         refusal.sentence());
      return opset - 1;
    }
    if (change.step != nullptr && !change.step->becomes.empty()) op_type = change.step->becomes;
  }
  return limit;
}

// The highest opset in [from, limit] at which every operator of the function is the version that the function imports.
int ReachOfFunction(const FunctionProto& function, int from, int limit, Reason& why) {
  const int own = static_cast<int>(ImportedVersion(function, ""));
  int reach = limit;
  ForEachNodeWithin(function.node(), [&](const onnx::NodeProto& node) {
    if (!IsOnnx(node.domain())) return;
    for (int opset = from + 1; opset <= reach; ++opset) {
      if (FindOpSchema("", node.op_type(), opset) == FindOpSchema("", node.op_type(), own)) continue;
      why = absl::StrCat("function ", Escaped(function.name()), " at opset ", opset, ": it uses ",
                         Escaped(node.op_type()), " of opset ", own);
      reach = opset - 1;
    }
  });
  return reach;
}

// Why no node of the model may change its version.
Reason KeepsWholeModel(const Model& model, int opset) {
  if (opset == 0) return "the model does not import ai.onnx";
  for (const auto& import : model.proto().opset_import()) {
    if (IsOnnx(import.domain()) && import.version() != opset) return "the model imports several versions of ai.onnx";
  }
  if (model.proto().training_info_size() > 0) return "the model has training_info graphs";
  return Reason::None();
}

// Operators that a runtime adds to ai.onnx have one form at all opsets, that of their signature.
bool IsVersioned(const Node& node) { return node.schema == nullptr || !node.schema->is_signature(); }

// Leaves out nodes that have no schema at the model's opset.
void LiftOneVersion(Model& model, int opset, Changes& changes) {
  for (const NodeId id : model.AllNodes()) {  // what an edit inserts has the new form already
    const Node& node = model.node(id);
    if (!IsOnnx(node.domain()) || node.schema == nullptr || !IsVersioned(node)) continue;
    const Change& change = changes.At(node.op_type(), opset);
    AMP_CHECK(change.kind != Change::Kind::kNotAdapted);
    if (change.kind != Change::Kind::kEdit) continue;
    const CallId call = node.call;
    const size_t before = model.num_nodes();
    change.step->edit(model, id);
    for (const NodeId made : IdRange<NodeId>(before, model.num_nodes())) model.SetCall(made, call);
  }
}

}  // namespace

int NewestAdaptedOpset() { return kNewestAdaptedOpset; }

namespace {

enum class UnknownOperators { kBlock, kLeave };

OpsetReach Reachable(const Model& model, int target, UnknownOperators unknown) {
  const int from = model.opset("");
  if (target <= from) return {from};
  int reach = target;
  Reason why = Reason::None();
  if (reach > kNewestAdaptedOpset) {
    reach = std::max(from, kNewestAdaptedOpset);
    why = absl::StrCat("opset ", reach + 1, " is newer than the adapters");
  }
  if (Reason refusal = KeepsWholeModel(model, from)) return {from, std::move(refusal)};
  for (const FunctionProto& function : model.proto().functions()) {
    reach = ReachOfFunction(function, from, reach, why);
  }
  Changes changes;
  // A node that allowed a high opset may refuse the lower one that a later node imposes: until nothing changes.
  for (int before = 0; before != reach;) {
    before = reach;
    for (const GraphId graph : model.AllGraphs()) {
      for (NodeId id : model.NodesInOrder(graph)) {
        if (!IsOnnx(model.node(id).domain()) || model.IsCallOfFunction(id)) continue;
        if (!IsVersioned(model.node(id))) continue;
        if (model.node(id).schema == nullptr && unknown == UnknownOperators::kLeave) continue;
        reach = ReachOfNode(model, id, from, reach, changes, why);
      }
    }
    if (reach == target) break;
  }
  return {reach, std::move(why)};
}

// Initializers that edits have disconnected go; those that nobody read before stay.
class UnreadInitializers {
 public:
  explicit UnreadInitializers(const Model& model) {
    for (const ValueId id : model.AllValues()) {
      if (model.value(id).IsInitializer() && !model.value(id).uses.empty()) read_.push_back(id);
    }
  }
  void RemoveFrom(Model& model) const {
    for (ValueId id : read_) {
      if (model.value(id).uses.empty() && !model.value(id).is_graph_input) model.RemoveInitializer(id);
    }
  }

 private:
  std::vector<ValueId> read_;
};

void Lift(Model& model, int target) {
  const UnreadInitializers initializers(model);
  const int from = model.opset("");
  model.SetIrVersion(std::max({model.ir_version(), IrVersionForOpset(target), kIrVersionOfConstants}));
  Changes changes;
  for (int opset = from + 1; opset <= target; ++opset) LiftOneVersion(model, opset, changes);
  model.SetOpset("", target);
  initializers.RemoveFrom(model);
}

bool IsUndefinedOnnx(const Model& model, NodeId id) {
  const Node& node = model.node(id);
  return IsOnnx(node.domain()) && node.schema == nullptr && !model.IsCallOfFunction(id);
}

// The first imported domain that is not ONNX's: "com.microsoft". Empty if there is none.
std::string ForeignDomain(const Model& model) {
  for (const auto& import : model.proto().opset_import()) {
    if (!import.domain().empty() && !absl::StartsWith(import.domain(), "ai.onnx")) return import.domain();
  }
  return "";
}

// Operators that ai.onnx has never had cannot be its own; they belong to a runtime's domain that the file imports.
void MoveUndefinedOperators(Model& model) {
  const std::string domain = ForeignDomain(model);
  if (domain.empty()) return;
  for (const NodeId id : model.AllNodes()) {
    if (!IsUndefinedOnnx(model, id)) continue;
    model.AddWarning(absl::StrCat("node '", Escaped(model.NodeLabel(id)), "': ai.onnx has no operator ",
                                  Escaped(model.node(id).op_type()), "; moved to domain ", Escaped(domain)));
    model.SetOperator(id, domain, model.node(id).op_type());
  }
}

}  // namespace

OpsetReach ReachableOpset(const Model& model, int target) { return Reachable(model, target, UnknownOperators::kBlock); }

absl::Status LiftOpset(Model& model, int target) {
  if (target <= model.opset("")) return absl::OkStatus();
  const OpsetReach reach = Reachable(model, target, UnknownOperators::kBlock);
  if (reach.opset < target) {
    return RefusedError("the model cannot be lifted to opset ", target, ": ", reach.blocking.sentence());
  }
  Lift(model, target);
  return absl::OkStatus();
}

bool MayImportOnnx(const Model& model) {
  constexpr int kFirstWithImports = 3;
  return model.opset("") == 0 && model.ir_version() >= kFirstWithImports && model.proto().functions_size() == 0;
}

void ImportOnnx(Model& model, int opset) {
  model.SetIrVersion(std::max(model.ir_version(), IrVersionForOpset(opset)));
  model.SetOpset("", opset);
}

int OpsetsThatOpen::OfPort(const OpSchema& schema, Port kind, size_t port) {
  const auto [it, is_new] = known_.try_emplace({&schema, kind, port}, 0);
  if (!is_new) return it->second;
  const auto takes = [&](const OpSchema& at) {
    return at.Allows(kind == Port::kInput ? at.InputVariable(port) : at.OutputVariable(port), low_);
  };
  if (takes(schema)) return 0;
  absl::string_view op_type = schema.name();
  const OpSchema* older = &schema;
  for (int opset = model_.opset("") + 1; opset <= limit_; ++opset) {
    const OpSchema* newer = FindOpSchema("", op_type, opset);
    if (newer == nullptr || newer == older) continue;
    const OpsetStep* step = FindStep(op_type, older->since_version(), newer->since_version());
    if (step != nullptr && !step->becomes.empty()) op_type = step->becomes;
    older = newer = FindOpSchema("", op_type, opset);
    if (newer != nullptr && takes(*newer)) return it->second = opset;
    if (newer == nullptr) break;
  }
  return 0;
}

int OpsetsThatOpen::For(NodeId id) {
  const Node& node = model_.node(id);
  if (node.schema == nullptr || !IsOnnx(node.domain())) return 0;
  const auto is_high = [&](ValueId value) { return value != kNone && model_.value(value).dtype == DType::kFloat32; };
  int opset = 0;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (is_high(node.inputs[i])) opset = std::max(opset, OfPort(*node.schema, Port::kInput, i));
  }
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (is_high(node.outputs[i])) opset = std::max(opset, OfPort(*node.schema, Port::kOutput, i));
  }
  return opset;
}

bool UnifyOpset(Model& model, int also_imported) {
  if (also_imported <= model.opset("")) return false;
  int target = also_imported;
  for (const NodeId id : model.AllNodes()) {
    if (IsUndefinedOnnx(model, id)) target = std::max(target, FirstOpset(model.node(id).op_type()));
  }
  const OpsetReach reach = Reachable(model, target, UnknownOperators::kLeave);
  if (reach.opset < target) {
    model.AddWarning(absl::StrCat("nodes of opset ", target, " stay in a model of opset ", model.opset(""), ": ",
                                  reach.blocking.sentence()));
    return false;
  }
  Lift(model, target);
  MoveUndefinedOperators(model);
  return true;
}

}  // namespace amp
