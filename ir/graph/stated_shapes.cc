#include "ir/graph/stated_shapes.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "ir/base/status.h"
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

// Completes a known shape by the stated one: the users' denotations of dimensions, and sizes that only the file knows.
void CompleteShape(const Shape& stated, Shape* known) {
  if (stated.dim_size() != known->dim_size()) return;
  for (int i = 0; i < stated.dim_size(); ++i) {
    const bool is_open = known->dim(i).value_case() == Shape::Dimension::VALUE_NOT_SET;
    if (is_open) *known->mutable_dim(i) = stated.dim(i);
    if (stated.dim(i).has_denotation()) known->mutable_dim(i)->set_denotation(stated.dim(i).denotation());
  }
}

bool SaysMore(const onnx::ValueInfoProto& info) { return !info.doc_string().empty() || !info.metadata_props().empty(); }

void StateType(const onnx::TypeProto& known, onnx::TypeProto* stated) {
  const onnx::TypeProto before = *stated;
  stated->CopyFrom(known);
  if (before.has_denotation()) stated->set_denotation(before.denotation());
  if (!before.tensor_type().has_shape() || !known.has_tensor_type()) return;
  Shape* shape = stated->mutable_tensor_type()->mutable_shape();
  if (known.tensor_type().has_shape()) {
    CompleteShape(before.tensor_type().shape(), shape);
  } else {
    *shape = before.tensor_type().shape();
  }
}

class Statements {
 public:
  Statements(const Model& model, GraphId id, onnx::GraphProto& proto)
      : model_(model), graph_(model.graph(id)), id_(id), proto_(proto) {
    for (size_t i = 0; i < graph_.outputs.size(); ++i) {
      const onnx::TypeProto* type = model.value(graph_.outputs[i]).type;
      is_doubtful_ |= type != nullptr && ShapesContradict(proto_.output(static_cast<int>(i)).type(), *type);
    }
  }

  void Update() {
    if (proto_.value_info().empty()) return;
    UpdateEntries();
    for (const NodeId node : model_.NodesInOrder(id_)) {
      if (model_.node(node).inserted && !is_doubtful_ && !ReadsCall(node)) AddOutputs(node);
    }
  }

 private:
  void UpdateEntries() {
    auto& infos = *proto_.mutable_value_info();
    int write = 0;
    for (int i = 0; i < infos.size(); ++i) {
      const auto it = graph_.names.find(infos[i].name());
      if (it == graph_.names.end() || !listed_.insert(it->second).second) continue;
      const Value& value = model_.value(it->second);
      if (value.type == nullptr && StatesType(infos[i].type())) continue;
      if (value.type != nullptr && ShapesContradict(infos[i].type(), *value.type)) {
        is_doubtful_ = true;
        if (!SaysMore(infos[i])) continue;
        UpdateElementType(&infos[i], value);
        infos[i].mutable_type()->mutable_tensor_type()->clear_shape();
      } else if (value.type != nullptr) {
        StateType(*value.type, infos[i].mutable_type());
      }
      infos.SwapElements(write++, i);
    }
    infos.DeleteSubrange(write, infos.size() - write);
  }

  // Runtimes look into functions: what they find there may contradict what the file states.
  bool ReadsCall(NodeId node) const {
    return std::any_of(model_.node(node).inputs.begin(), model_.node(node).inputs.end(), [&](ValueId in) {
      return in != kNone && model_.value(in).producer != kNone && model_.IsCallOfFunction(model_.value(in).producer);
    });
  }

  void AddOutputs(NodeId node) {
    for (const ValueId out : model_.node(node).PresentOutputs()) {
      const bool wanted = !model_.IsGraphOutput(out) && model_.value(out).type != nullptr;
      if (!wanted || !listed_.insert(out).second) continue;
      onnx::ValueInfoProto* info = proto_.add_value_info();
      info->set_name(model_.value(out).name);
      info->mutable_type()->CopyFrom(*model_.value(out).type);
    }
  }

  const Model& model_;
  const Graph& graph_;
  const GraphId id_;
  onnx::GraphProto& proto_;
  absl::flat_hash_set<ValueId> listed_;
  bool is_doubtful_ = false;  // then shapes of new values are left to the runtime
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
  for (const GraphId id : model.AllGraphs()) {
    const Graph& graph = model.graph(id);
    for (const auto* infos : {&graph.proto->value_info(), &graph.proto->output()}) {
      for (const auto& info : *infos) {
        const auto it = graph.names.find(info.name());
        const onnx::TypeProto* type = it == graph.names.end() ? nullptr : model.value(it->second).type.get();
        if (type == nullptr || !ShapesContradict(info.type(), *type) || !found.insert(it->second).second) continue;
        if (first.empty()) first = Escaped(info.name());
      }
    }
  }
  if (found.empty()) return "";
  return absl::StrCat(found.size(), found.size() == 1 ? " value has a stated shape" : " values have stated shapes",
                      " that inference contradicts, first: '", first, "'; value_info drops them, outputs keep them");
}

void StateTypes(const Model& model, GraphId id, onnx::GraphProto& proto) {
  const Graph& graph = model.graph(id);
  if (graph.owner != kNone) {
    for (size_t i = 0; i < graph.inputs.size(); ++i) {
      UpdateElementType(proto.mutable_input(static_cast<int>(i)), model.value(graph.inputs[i]));
    }
    for (size_t i = 0; i < graph.outputs.size(); ++i) {
      UpdateElementType(proto.mutable_output(static_cast<int>(i)), model.value(graph.outputs[i]));
    }
  }
  Statements(model, id, proto).Update();
}

}  // namespace amp
