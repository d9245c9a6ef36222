#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "google/protobuf/arena.h"
#include "ir/base/limits.h"
#include "ir/file/validate.h"
#include "ir/graph/constant.h"
#include "ir/graph/infer.h"
#include "ir/graph/insert_nodes.h"
#include "ir/graph/shape.h"
#include "ir/patterns/group_norm_pattern.h"
#include "ir/patterns/norm_pattern.h"
#include "ir/patterns/unit_operator.h"
#include "ir/schema/schema.h"
#include "onnx/onnx_pb.h"

namespace amp {
namespace {

constexpr size_t kMostNodes = 64;
constexpr int64_t kMostElements = 1 << 16;  // of a constant that a norm reads

class Return {
 public:
  Return(Model& model, const UnitOperator& unit) : model_(model), unit_(unit), graph_(model.node(unit.node).graph) {}

  bool Run() {
    if (!Fits() || !Parse() || !FindOperands() || !AreThePattern()) return false;
    for (const UnitOperator::Reshaped& reshaped : unit_.reshaped) {
      if (!ReshapeConstant(model_, reshaped.value, reshaped.dims)) return false;
    }
    for (size_t i = 0; i + 1 < nodes_.size(); ++i) InsertNode(nodes_[i]);
    RestoreLast(nodes_.back());
    for (const ValueId made : unit_.made) {
      const Value& value = model_.value(made);
      if (model_.IsConstant(made) && value.IsInitializer() && value.uses.empty()) model_.RemoveInitializer(made);
    }
    return true;
  }

 private:
  // The unit is an operator of the kind that MakeUnit makes, at the opset that the nodes are of.
  bool Fits() const {
    const Node& node = model_.node(unit_.node);
    return !node.erased && node.domain().empty() && node.schema != nullptr && node.bodies.empty() &&
           node.outputs.size() == 1 && node.Output(0) != kNone && model_.opset("") == unit_.opset;
  }

  bool Parse() {
    if (unit_.nodes.empty() || unit_.nodes.size() > kMostNodes) return false;
    for (const std::string& bytes : unit_.nodes) {
      if (!nodes_.emplace_back().ParseFromString(bytes)) return false;
      const onnx::NodeProto& node = nodes_.back();
      if (!(node.domain().empty() || node.domain() == "ai.onnx") || CallsFunction(node)) return false;
      if (FindOpSchema("", node.op_type(), unit_.opset) == nullptr) return false;
      const auto is_plain = [](const onnx::AttributeProto& attribute) {
        return !attribute.has_g() && attribute.graphs_size() == 0 && attribute.tensors_size() == 0 &&
               !attribute.has_sparse_tensor() && attribute.sparse_tensors_size() == 0 &&
               attribute.t().data_location() == onnx::TensorProto::DEFAULT && attribute.ref_attr_name().empty();
      };
      if (!std::all_of(node.attribute().begin(), node.attribute().end(), is_plain)) return false;
    }
    return nodes_.back().output_size() == 1;
  }

  bool CallsFunction(const onnx::NodeProto& node) const {
    const auto& functions = model_.proto().functions();
    return std::any_of(functions.begin(), functions.end(), [&](const onnx::FunctionProto& function) {
      return (function.domain().empty() || function.domain() == "ai.onnx") && function.name() == node.op_type();
    });
  }

  bool IsVisible(ValueId value) const {
    for (GraphId graph = graph_;; graph = model_.node(model_.graph(graph).owner).graph) {
      if (model_.value(value).graph == graph) return true;
      if (graph == kMainGraph) return false;
    }
  }

  bool FindOperands() {
    const Node& unit = model_.node(unit_.node);
    for (const UnitOperator::Operand& operand : unit_.operands) {
      const ValueId value = operand.port ? unit.Input(*operand.port) : operand.value;
      if (value == kNone || value == unit.Output(0) || !IsVisible(value)) return false;
      if (!values_.emplace(operand.name, value).second) return false;
    }
    return true;
  }

  // The nodes as a model of their own, which has to be one, and the pattern that the unit stands for.
  bool AreThePattern() const {
    auto arena = std::make_unique<google::protobuf::Arena>();
    auto* alone = google::protobuf::Arena::CreateMessage<onnx::ModelProto>(arena.get());
    alone->set_ir_version(model_.ir_version());
    alone->add_opset_import()->set_version(unit_.opset);
    onnx::GraphProto& graph = *alone->mutable_graph();
    graph.set_name("nodes");
    for (const UnitOperator::Operand& operand : unit_.operands) {
      if (!AddOperand(operand, graph)) return false;
    }
    for (const onnx::NodeProto& node : nodes_) *graph.add_node() = node;
    graph.add_output()->set_name(nodes_.back().output(0));
    std::vector<std::string> warnings;
    if (!ValidateModel(*alone, Limits(), &warnings).ok()) return false;
    const auto made = Model::Create(std::move(arena), alone);
    if (!made.ok()) return false;
    InferTypes(**made);
    return HoldsThePattern(**made);
  }

  bool AddOperand(const UnitOperator::Operand& operand, onnx::GraphProto& graph) const {
    const ValueId value = values_.at(operand.name);
    std::optional<std::vector<int64_t>> shape = ShapeOf(model_, value);
    if (!operand.port) {
      const auto elements = ConstantElements(model_, value, kMostElements);
      if (!elements || !shape) return false;
      onnx::TensorProto& tensor = *graph.add_initializer();
      tensor.set_name(operand.name);
      const bool is_float = model_.value(value).dtype == DType::kFloat32;
      if (!is_float && model_.value(value).dtype != DType::kInt64) return false;
      tensor.set_data_type(is_float ? onnx::TensorProto::FLOAT : onnx::TensorProto::INT64);
      for (const int64_t dim : *shape) tensor.add_dims(dim);
      for (const double element : *elements) {
        is_float ? tensor.add_float_data(static_cast<float>(element))
                 : tensor.add_int64_data(static_cast<int64_t>(element));
      }
    }
    for (const UnitOperator::Reshaped& reshaped : unit_.reshaped) {
      if (reshaped.value == value) shape = reshaped.dims;
    }
    if (!operand.port && model_.ir_version() >= kInitializersNeedNoInput) return true;
    onnx::ValueInfoProto& input = *graph.add_input();
    input.set_name(operand.name);
    auto* type = input.mutable_type()->mutable_tensor_type();
    type->set_elem_type(operand.port ? onnx::TensorProto::FLOAT : static_cast<int32_t>(model_.value(value).dtype));
    if (!shape) return true;
    type->mutable_shape();
    for (const int64_t dim : *shape) {
      auto* added = type->mutable_shape()->add_dim();
      if (dim >= 0) added->set_dim_value(dim);
    }
    return true;
  }

  bool HoldsThePattern(const Model& alone) const {
    for (const auto recognise : {RecogniseGroupNorm, RecogniseNorm}) {
      for (const NodeId id : alone.AllNodes()) {
        const Recognised found = recognise(alone, id);
        if (found.found() && IsOfUnit(alone, found.pattern())) return true;
      }
    }
    return false;
  }

  // Ones for a scale, zeros for a shift.
  bool IsMade(ValueId value, size_t port) const {
    if (std::find(unit_.made.begin(), unit_.made.end(), value) == unit_.made.end()) return false;
    const auto elements = ConstantElements(model_, value, kMostElements);
    const double wanted = port == 1 ? 1 : 0;
    return elements && std::all_of(elements->begin(), elements->end(), [&](double e) { return e == wanted; });
  }

  // Whether it is all that `alone` holds, and what the unit computes.
  bool IsOfUnit(const Model& alone, const Pattern& pattern) const {
    for (const NodeId id : alone.AllNodes()) {
      const bool is_inside = std::find(pattern.nodes.begin(), pattern.nodes.end(), id) != pattern.nodes.end();
      if (!is_inside && !alone.node(id).Has(Role::kConstant)) return false;
    }
    if (alone.value(alone.graph(kMainGraph).outputs[0]).producer != pattern.last()) return false;
    for (size_t port = 0; port < pattern.inputs.size(); ++port) {
      const ValueId given = model_.node(unit_.node).Input(port);
      if (pattern.inputs[port] == kNone && (given == kNone || IsMade(given, port))) continue;
      const auto it = values_.find(alone.value(pattern.inputs[port]).name);
      if (it == values_.end() || it->second != given) return false;
    }
    return IsUnitOf(alone, pattern, model_.node(unit_.node));
  }

  std::string FreeName(const std::string& wanted) {
    for (GraphId graph = graph_;; graph = model_.node(model_.graph(graph).owner).graph) {
      if (model_.graph(graph).names.contains(wanted)) return model_.UniqueName(wanted);
      if (graph == kMainGraph) return wanted;
    }
  }

  std::vector<ValueId> InputsOf(const onnx::NodeProto& node) const {
    std::vector<ValueId> inputs;
    for (const std::string& name : node.input()) inputs.push_back(name.empty() ? kNone : values_.at(name));
    return inputs;
  }

  void InsertNode(onnx::NodeProto node) {
    Model::NewNode spec{.op_type = node.op_type(), .name = node.name(), .inputs = InputsOf(node), .outputs = {}};
    for (const std::string& name : node.output()) spec.outputs.push_back(FreeName(name));
    const NodeId id = model_.InsertAfter(graph_, model_.node(unit_.node).prev, spec);
    for (int i = 0; i < node.output_size(); ++i) {
      if (!node.output(i).empty()) values_[node.output(i)] = model_.node(id).outputs[static_cast<size_t>(i)];
    }
    node.clear_input();
    node.clear_output();
    model_.EditProto(id).MergeFrom(node);
  }

  void RestoreLast(const onnx::NodeProto& node) {
    const NodeId id = unit_.node;
    model_.SetOperator(id, "", node.op_type());
    SetInputs(model_, id, InputsOf(node));
    onnx::NodeProto& proto = model_.EditProto(id);
    *proto.mutable_attribute() = node.attribute();
    node.has_name() ? proto.set_name(node.name()) : proto.clear_name();
  }

  Model& model_;
  const UnitOperator& unit_;
  const GraphId graph_;
  std::vector<onnx::NodeProto> nodes_;
  absl::flat_hash_map<std::string, ValueId> values_;  // what the nodes call them
};

}  // namespace

bool TakeUnitBack(Model& model, const UnitOperator& unit) { return Return(model, unit).Run(); }

}  // namespace amp
