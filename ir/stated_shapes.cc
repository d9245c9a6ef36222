#include "ir/stated_shapes.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "ir/status.h"
#include "onnx/onnx_pb.h"

namespace amp {
namespace {

using Shape = onnx::TensorShapeProto;

bool StatesType(const onnx::TypeProto& type) {
  return type.has_tensor_type() ? type.tensor_type().elem_type() != onnx::TensorProto::UNDEFINED
                                : type.value_case() != onnx::TypeProto::VALUE_NOT_SET;
}

// Lets a declaration in the file say what is known now; one that says nothing stays silent.
void UpdateElementType(onnx::ValueInfoProto* declared, const Value& value) {
  const DType known = ElementType(value);
  if (!declared->has_type() || known == DType::kUndefined) return;
  onnx::TypeProto_Tensor* tensor = InnermostTensor(declared->mutable_type());
  if (tensor != nullptr && tensor->elem_type() != onnx::TensorProto::UNDEFINED) {
    tensor->set_elem_type(static_cast<int32_t>(known));
  }
}

// What dimensions denote is the user's, and so is what is known of them from the file alone.
void CompleteShape(const Shape& stated, Shape* known) {
  if (stated.dim_size() != known->dim_size()) return;
  for (int i = 0; i < stated.dim_size(); ++i) {
    const bool is_open = known->dim(i).value_case() == Shape::Dimension::VALUE_NOT_SET;
    if (is_open) *known->mutable_dim(i) = stated.dim(i);
    if (stated.dim(i).has_denotation()) known->mutable_dim(i)->set_denotation(stated.dim(i).denotation());
  }
}

void StateType(const onnx::TypeProto& known, onnx::TypeProto* stated) {
  const onnx::TypeProto before = *stated;
  stated->CopyFrom(known);
  if (before.has_denotation()) stated->set_denotation(before.denotation());
  if (!before.tensor_type().has_shape() || !known.has_tensor_type()) return;
  Shape* shape = stated->mutable_tensor_type()->mutable_shape();
  if (!known.tensor_type().has_shape() || ShapesContradict(before, known)) {
    *shape = before.tensor_type().shape();
  } else {
    CompleteShape(before.tensor_type().shape(), shape);
  }
}

class Statements {
 public:
  Statements(Model& model, GraphId id) : model_(model), graph_(model.graph(id)), id_(id), proto_(*graph_.proto) {}

  void Update() {
    FindTakenOver();
    UpdateEntries();
    for (const auto& [value, shape] : taken_over_) {
      if (listed_.insert(value).second) *Add(value)->mutable_tensor_type()->mutable_shape() = *shape;
    }
    if (proto_.value_info().empty()) return;
    for (const NodeId node : model_.NodesInOrder(id_)) {
      if (model_.node(node).inserted) AddOutputs(node);
    }
  }

 private:
  // A cast of ours has the name of an output of the model, whose stated shape contradicted that of what it casts.
  void FindTakenOver() {
    for (size_t i = 0; graph_.owner == kNone && i < graph_.outputs.size(); ++i) {
      const Value& output = model_.value(graph_.outputs[i]);
      const onnx::TypeProto& stated = proto_.output(static_cast<int>(i)).type();
      if (output.type == nullptr || !ShapesContradict(stated, *output.type)) continue;
      is_doubtful_ = true;
      if (output.producer == kNone || !model_.node(output.producer).inserted) continue;
      const ValueId source = model_.node(output.producer).inputs[0];
      if (model_.value(source).graph == id_) taken_over_.emplace_back(source, &stated.tensor_type().shape());
    }
  }

  void UpdateEntries() {
    auto& infos = *proto_.mutable_value_info();
    int write = 0;
    for (int i = 0; i < infos.size(); ++i) {
      const auto it = graph_.names.find(infos[i].name());
      if (it == graph_.names.end() || !listed_.insert(it->second).second) continue;
      const Value& value = model_.value(it->second);
      if (value.type == nullptr && StatesType(infos[i].type())) continue;
      is_doubtful_ = is_doubtful_ || IsDoubtful(value, infos[i].type());
      if (value.type != nullptr) StateType(*value.type, infos[i].mutable_type());
      infos.SwapElements(write++, i);
    }
    infos.DeleteSubrange(write, infos.size() - write);
  }

  // Runtimes look into functions: what they find there may contradict what the file states of a call.
  bool IsDoubtful(const Value& value, const onnx::TypeProto& stated) const {
    if (value.type != nullptr && ShapesContradict(stated, *value.type)) return true;
    return value.producer != kNone && model_.IsCallOfFunction(value.producer);
  }

  // Where shapes contradict each other, those of new values are left to the runtime.
  void AddOutputs(NodeId node) {
    for (const ValueId out : model_.node(node).outputs) {
      const bool wanted = out != kNone && !model_.IsGraphOutput(out) && model_.value(out).type != nullptr;
      if (!wanted || !listed_.insert(out).second) continue;
      onnx::TypeProto* type = Add(out);
      const auto& inputs = model_.node(node).inputs;
      const auto is_captured = [&](ValueId in) { return in != kNone && model_.value(in).graph != id_; };
      const bool leaves_shape = is_doubtful_ || std::any_of(inputs.begin(), inputs.end(), is_captured);
      if (leaves_shape && type->has_tensor_type()) type->mutable_tensor_type()->clear_shape();
    }
  }

  onnx::TypeProto* Add(ValueId value) {
    onnx::ValueInfoProto* info = proto_.add_value_info();
    info->set_name(model_.value(value).name);
    info->mutable_type()->CopyFrom(*model_.value(value).type);
    return info->mutable_type();
  }

  Model& model_;
  const Graph& graph_;
  const GraphId id_;
  onnx::GraphProto& proto_;
  absl::flat_hash_set<ValueId> listed_;
  std::vector<std::pair<ValueId, const Shape*>> taken_over_;
  bool is_doubtful_ = false;
};

}  // namespace

bool ShapesContradict(const onnx::TypeProto& a, const onnx::TypeProto& b) {
  if (!a.tensor_type().has_shape() || !b.tensor_type().has_shape()) return false;
  const Shape &x = a.tensor_type().shape(), &y = b.tensor_type().shape();
  if (x.dim_size() != y.dim_size()) return true;
  for (int i = 0; i < x.dim_size(); ++i) {
    const bool are_known = x.dim(i).has_dim_value() && y.dim(i).has_dim_value();
    if (are_known && x.dim(i).dim_value() != y.dim(i).dim_value()) return true;
  }
  return false;
}

std::string DescribeContradictions(const Model& model) {
  absl::flat_hash_set<ValueId> found;
  std::string first;
  for (GraphId id = 0; id < model.num_graphs(); ++id) {
    const Graph& graph = model.graph(id);
    for (const auto* infos : {&graph.proto->value_info(), &graph.proto->output()}) {
      for (const auto& info : *infos) {
        const auto it = graph.names.find(info.name());
        const onnx::TypeProto* type = it == graph.names.end() ? nullptr : model.value(it->second).type;
        if (type == nullptr || !ShapesContradict(info.type(), *type) || !found.insert(it->second).second) continue;
        if (first.empty()) first = Escaped(info.name());
      }
    }
  }
  if (found.empty()) return "";
  return absl::StrCat(found.size(), found.size() == 1 ? " value has a stated shape" : " values have stated shapes",
                      " that inference contradicts, which stay", found.size() == 1 ? "s" : "", ", first: '", first,
                      "'");
}

void StateTypes(Model& model, GraphId id) {
  const Graph& graph = model.graph(id);
  if (graph.owner != kNone) {
    for (size_t i = 0; i < graph.inputs.size(); ++i) {
      UpdateElementType(graph.proto->mutable_input(static_cast<int>(i)), model.value(graph.inputs[i]));
    }
    for (size_t i = 0; i < graph.outputs.size(); ++i) {
      UpdateElementType(graph.proto->mutable_output(static_cast<int>(i)), model.value(graph.outputs[i]));
    }
  }
  Statements(model, id).Update();
}

}  // namespace amp
