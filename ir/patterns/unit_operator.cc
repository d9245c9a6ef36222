#include "ir/patterns/unit_operator.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "google/protobuf/arena.h"
#include "ir/base/check.h"
#include "ir/base/limits.h"
#include "ir/file/external_data.h"
#include "ir/file/validate_tensor.h"
#include "ir/graph/attributes.h"
#include "ir/graph/constant.h"
#include "ir/graph/insert_nodes.h"
#include "ir/graph/shape.h"
#include "onnx/onnx_pb.h"

namespace amp {
namespace {

constexpr int kFirstToBroadcast = 7;          // without an attribute that asks for it
constexpr int64_t kMostMade = 1 << 16;        // elements of a constant
constexpr int64_t kLargestConstant = 4096;    // bytes, of one that goes with its readers
constexpr size_t kLargestConstantNode = 256;  // bytes, that goes with its readers

struct UnitRow {
  absl::string_view op_type = "";
  int since = 0;
  bool is_per_channel = false;
};

UnitRow UnitOf(PatternKind kind) {
  switch (kind) {
    case PatternKind::kLayerNorm:
      return {"LayerNormalization", 17};
    case PatternKind::kRmsNorm:
      return {"RMSNormalization", 23};
    case PatternKind::kInstanceNorm:  // InstanceNormalization says nothing about the type of its statistics
    case PatternKind::kGroupNorm:
      return {"GroupNormalization", 21, true};
    case PatternKind::kSoftmax:
    case PatternKind::kLogSoftmax:
    case PatternKind::kLogSumExp:
    case PatternKind::kGelu:
    case PatternKind::kTanhGelu:
    case PatternKind::kSilu:
    case PatternKind::kHardSwish:
    case PatternKind::kAttention:
    case PatternKind::kRotary:
      return {};
  }
  return {};
}

// The shape that scale and shift of the operator have; nothing where it is not known.
std::optional<std::vector<int64_t>> ShapeOfScale(const Model& model, const Pattern& pattern) {
  const auto shape = ShapeOf(model, pattern.inputs[0]);
  if (!shape.has_value()) return std::nullopt;
  std::vector<int64_t> dims;
  if (UnitOf(pattern.kind).is_per_channel) {
    if (shape->size() < 2) return std::nullopt;
    dims = {(*shape)[1]};
  } else {
    if (shape->size() < pattern.axes.size()) return std::nullopt;
    dims.assign(shape->end() - static_cast<std::ptrdiff_t>(pattern.axes.size()), shape->end());
  }
  int64_t elements = 1;
  for (const int64_t dim : dims) {
    if (dim <= 0 || dim > kMostMade / elements) return std::nullopt;
    elements *= dim;
  }
  return dims;
}

bool IsInside(const Pattern& pattern, NodeId id) {
  return std::find(pattern.nodes.begin(), pattern.nodes.end(), id) != pattern.nodes.end();
}

bool IsReadInsideAlone(const Model& model, const Pattern& pattern, ValueId value) {
  const auto& uses = model.value(value).uses;
  return std::all_of(uses.begin(), uses.end(),
                     [&](const Use& use) { return !use.IsGraphOutput() && IsInside(pattern, use.node); });
}

ValueId MakeConstant(Model& model, const Pattern& pattern, const std::vector<int64_t>& dims, float fill,
                     absl::string_view suffix) {
  auto* tensor = google::protobuf::Arena::CreateMessage<onnx::TensorProto>(model.arena());
  tensor->set_data_type(onnx::TensorProto::FLOAT);
  int64_t elements = 1;
  for (const int64_t dim : dims) {
    tensor->add_dims(dim);
    elements *= dim;
  }
  const std::string bytes(reinterpret_cast<const char*>(&fill), sizeof(fill));
  std::string* raw = tensor->mutable_raw_data();
  for (int64_t i = 0; i < elements; ++i) raw->append(bytes);
  const Node& last = model.node(pattern.last());
  const std::string wanted = absl::StrCat(model.value(last.Output(0)).name, suffix);
  return model.AddInitializer(last.graph, model.UniqueName(wanted), tensor);
}

bool HasTensor(const Model& model, ValueId value) {
  const Value& v = model.value(value);
  return v.IsInitializer() || (v.producer != kNone && GetTensor(model.node(v.producer), "value") != nullptr);
}

// A scale or shift [C, 1, ...] that may become [C].
bool MayReshape(const Model& model, const Pattern& pattern, ValueId value) {
  return model.IsConstant(value) && HasTensor(model, value) && !model.value(value).is_graph_input &&
         !model.value(value).is_training_state && IsReadInsideAlone(model, pattern, value);
}

// Small constants that nobody else reads.
std::vector<NodeId> ConstantsOf(const Model& model, const Pattern& pattern) {
  std::vector<NodeId> constants;
  for (const NodeId id : pattern.nodes) {
    for (const ValueId in : model.node(id).PresentInputs()) {
      const NodeId producer = model.value(in).producer;
      if (producer == kNone || !model.IsConstant(in) || model.node(producer).graph != model.node(id).graph) continue;
      const bool is_known = std::find(constants.begin(), constants.end(), producer) != constants.end();
      const bool is_operand = std::find(pattern.inputs.begin(), pattern.inputs.end(), in) != pattern.inputs.end();
      const bool is_small = model.node(producer).proto->ByteSizeLong() <= kLargestConstantNode;
      if (is_known || is_operand || !is_small || !IsReadInsideAlone(model, pattern, in)) continue;
      constants.push_back(producer);
    }
  }
  return constants;
}

// Returns the values that the nodes read and none of them gives.
std::vector<UnitOperator::Operand> OperandsOf(const Model& model, const std::vector<NodeId>& nodes,
                                              const std::vector<ValueId>& ports) {
  std::vector<UnitOperator::Operand> operands;
  absl::flat_hash_set<ValueId> seen;
  for (const NodeId id : nodes) {
    for (const ValueId out : model.node(id).PresentOutputs()) seen.insert(out);
  }
  for (const NodeId id : nodes) {
    for (const ValueId in : model.node(id).PresentInputs()) {
      if (!seen.insert(in).second) continue;
      UnitOperator::Operand operand{.name = model.value(in).name, .port = std::nullopt};
      const auto port = std::find(ports.begin(), ports.end(), in);
      if (port == ports.end()) {
        operand.value = in;
      } else {
        operand.port = static_cast<size_t>(port - ports.begin());
      }
      operands.push_back(std::move(operand));
    }
  }
  return operands;
}

// How many groups, or from which axis on.
int64_t SizeOfUnit(const Model& model, const Pattern& pattern) {
  if (!UnitOf(pattern.kind).is_per_channel) return -static_cast<int64_t>(pattern.axes.size());
  return pattern.kind == PatternKind::kGroupNorm ? pattern.groups : (*ShapeOf(model, pattern.inputs[0]))[1];
}

void SetAttributes(Model& model, NodeId node, const Pattern& pattern) {
  model.EditProto(node).clear_attribute();
  const char* const size = UnitOf(pattern.kind).is_per_channel ? "num_groups" : "axis";
  SetInt(model, node, size, SizeOfUnit(model, pattern));
  SetFloat(model, node, "epsilon", static_cast<float>(pattern.epsilon.value_or(0)));
  SetInt(model, node, "stash_type", onnx::TensorProto::FLOAT);
}

}  // namespace

int OpsetOfUnit(PatternKind kind) { return UnitOf(kind).since; }
absl::string_view NameOfUnit(PatternKind kind) { return UnitOf(kind).op_type; }

bool IsUnitOf(const Model& model, const Pattern& pattern, const Node& node) {
  const UnitRow unit = UnitOf(pattern.kind);
  const float epsilon = static_cast<float>(pattern.epsilon.value_or(0));
  if (node.op_type() != unit.op_type || GetFloat(node, "epsilon") != epsilon) return false;
  return GetInt(node, unit.is_per_channel ? "num_groups" : "axis") == SizeOfUnit(model, pattern);
}

Reason ObstacleToUnit(const Model& model, const Pattern& pattern) {
  const UnitRow unit = UnitOf(pattern.kind);
  if (unit.since == 0) return "no operator of ai.onnx computes it with float32 inside";
  if (model.opset("") < kFirstToBroadcast) return "operators of its opset do not broadcast by themselves";
  for (const ValueId in : pattern.inputs) {
    if (in != kNone && model.value(in).dtype != DType::kFloat32) return "its operands are not float32";
  }
  for (const NodeId id : pattern.nodes) {
    for (const ValueId in : model.node(id).PresentInputs()) {
      const bool is_operand = std::find(pattern.inputs.begin(), pattern.inputs.end(), in) != pattern.inputs.end();
      const bool is_inside = IsInside(pattern, model.value(in).producer);
      if (!is_operand && !is_inside && !model.IsConstant(in)) {
        return "it reads one value by two names, or what is computed for others too";
      }
    }
  }
  const ValueId scale = pattern.inputs[1], shift = pattern.inputs.size() > 2 ? pattern.inputs[2] : kNone;
  const bool makes_one = scale == kNone || (unit.is_per_channel && shift == kNone);
  if (makes_one && !ShapeOfScale(model, pattern)) return "the shape of a scale for it is not known, or large";
  if (!unit.is_per_channel) return Reason::None();
  for (const ValueId in : {scale, shift}) {
    if (in != kNone && !MayReshape(model, pattern, in)) return "its scale or shift is no constant of its own";
  }
  return Reason::None();
}

UnitOperator MakeUnit(Model& model, const Pattern& pattern) {
  AMP_CHECK(!ObstacleToUnit(model, pattern) && model.opset("") >= OpsetOfUnit(pattern.kind));
  const UnitRow unit = UnitOf(pattern.kind);
  UnitOperator made{.node = pattern.last(), .opset = model.opset("")};
  std::vector<NodeId> nodes = ConstantsOf(model, pattern);
  nodes.insert(nodes.end(), pattern.nodes.begin(), pattern.nodes.end());
  for (const NodeId id : nodes) made.nodes.push_back(model.node(id).proto->SerializeAsString());
  made.operands = OperandsOf(model, nodes, pattern.inputs);

  std::vector<ValueId> inputs = pattern.inputs;
  const auto make = [&](size_t port, float fill, absl::string_view suffix) {
    if (inputs[port] != kNone) return;
    inputs[port] = MakeConstant(model, pattern, *ShapeOfScale(model, pattern), fill, suffix);
    made.made.push_back(inputs[port]);
  };
  make(1, 1, "_ones");
  if (unit.is_per_channel) make(2, 0, "_zeros");
  if (inputs.back() == kNone) inputs.pop_back();
  SetAttributes(model, made.node, pattern);
  if (model.node(made.node).name().empty()) {
    model.EditProto(made.node).set_name(model.UniqueName(model.value(model.node(made.node).Output(0)).name));
  }
  model.SetOperator(made.node, "", unit.op_type);
  SetInputs(model, made.node, inputs);
  for (auto it = nodes.rbegin(); it != nodes.rend(); ++it) {
    if (*it != made.node) model.Erase(*it);
  }
  for (const ValueId in : pattern.inputs) {
    if (!unit.is_per_channel || in == kNone || in == pattern.inputs[0]) continue;
    const std::vector<int64_t> before = *ShapeOf(model, in), after = *ShapeOfScale(model, pattern);
    if (before == after) continue;  // the one constant may be scale and shift
    made.reshaped.push_back({in, before});
    AMP_CHECK(ReshapeConstant(model, in, after));
  }
  return made;
}

std::vector<std::string> TakeUnreadConstants(Model& model, absl::Span<UnitOperator* const> units) {
  std::vector<std::string> taken;
  absl::flat_hash_set<ValueId> gone;
  for (UnitOperator* const unit : units) {
    for (UnitOperator::Operand& operand : unit->operands) {
      const ValueId id = operand.value;
      if (id == kNone) continue;
      const Value& value = model.value(id);
      const bool may_go = !gone.contains(id) && value.graph == kMainGraph && value.IsInitializer() &&
                          model.IsConstant(id) && value.uses.empty() && !IsExternal(*value.initializer);
      const bool is_small = may_go && NumBytes(model, id) <= kLargestConstant &&
                            static_cast<int64_t>(value.initializer->ByteSizeLong()) <= kLargestConstant;
      if (is_small) {
        taken.push_back(value.initializer->SerializeAsString());
        gone.insert(id);
        model.RemoveInitializer(id);
      }
      if (gone.contains(id)) operand.value = kNone;
    }
  }
  return taken;
}

RestoredConstant RestoreConstant(Model& model, const std::string& bytes) {
  auto* tensor = google::protobuf::Arena::CreateMessage<onnx::TensorProto>(model.arena());
  if (static_cast<int64_t>(bytes.size()) > kLargestConstant || !tensor->ParseFromString(bytes) ||
      tensor->name().empty())
    return {};
  const bool is_embedded = tensor->data_location() == onnx::TensorProto::DEFAULT;
  if (!is_embedded || !ValidateTensor(*tensor, Limits(), nullptr).ok()) return {};
  const std::string name = tensor->name();
  const bool is_taken = model.graph(kMainGraph).names.contains(name);
  return {name, model.AddInitializer(kMainGraph, is_taken ? model.UniqueName(name) : name, tensor)};
}

}  // namespace amp
