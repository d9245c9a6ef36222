#include "ir/graph/infer.h"

#include <algorithm>
#include <exception>
#include <new>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_join.h"
#include "google/protobuf/arena.h"
#include "ir/base/status.h"
#include "ir/graph/attributes.h"
#include "ir/graph/control_flow.h"
#include "ir/graph/einsum_equation.h"
#include "ir/graph/infer_call.h"
#include "ir/graph/node_paths.h"
#include "ir/graph/shape.h"
#include "ir/graph/signature_misfit.h"
#include "ir/graph/split_axis.h"
#include "ir/schema/operator_label.h"
#include "ir/schema/schema.h"
#include "onnx/defs/schema.h"
#include "onnx/defs/shape_inference.h"
#include "onnx/onnx_pb.h"

namespace amp {
namespace {

class Inference {
 public:
  explicit Inference(Model& model) : model_(model), calls_(model), visited_(model.num_graphs()) {}

  void InferGraph(GraphId graph);
  Model& model() { return model_; }

 private:
  using Claims = absl::flat_hash_map<ValueId, const onnx::TypeProto*>;  // the types that the file states

  void InferNode(NodeId node);
  std::string InputTypes(NodeId node) const;
  void ChooseSignature(NodeId node, const Claims& claims);
  void TakeClaims(NodeId node, const Claims& claims);
  void FallBackToSchema(NodeId node);
  void InferInputsFromSiblings(NodeId node);

  Model& model_;
  const CallInference calls_;
  IdVector<GraphId, bool> visited_;
  absl::flat_hash_set<std::string> misfits_;  // operators with a node that fits none of their signatures
};

// Lets ONNX's inference of If / Loop / Scan look into a body.
class BodyInferencer : public onnx::GraphInferencer {
 public:
  BodyInferencer(Inference& inference, GraphId body) : inference_(inference), body_(body) {}

  std::vector<const onnx::TypeProto*> doInferencing(const std::vector<const onnx::TypeProto*>& input_types,
                                                    const std::vector<const onnx::TensorProto*>&) override {
    Model& model = inference_.model();
    const std::vector<ValueId> inputs = model.graph(body_).inputs;
    for (size_t i = 0; i < inputs.size() && i < input_types.size(); ++i) {
      const Value& v = model.value(inputs[i]);
      const bool contradicts = v.dtype != DType::kUndefined && input_types[i] != nullptr &&
                               static_cast<DType>(input_types[i]->tensor_type().elem_type()) != v.dtype;
      if (input_types[i] == nullptr || contradicts) continue;
      model.ForgetType(inputs[i]);
      model.SetType(inputs[i], *input_types[i]);
    }
    inference_.InferGraph(body_);
    std::vector<const onnx::TypeProto*> types;
    for (ValueId output : model.graph(body_).outputs) {
      const onnx::TypeProto* type = model.value(output).type;
      types.push_back(type != nullptr ? type : &onnx::TypeProto::default_instance());  // ONNX follows null pointers
    }
    return types;
  }

 private:
  Inference& inference_;
  GraphId body_;
};

class NodeContext : public onnx::InferenceContext {
 public:
  NodeContext(Inference& inference, NodeId node)
      : inference_(inference),
        node_(inference.model().node(node)),
        split_axis_(FindSplitAxis(inference.model(), node)) {
    for (size_t i = 0; i < node_.outputs.size(); ++i) {
      outputs_.push_back(google::protobuf::Arena::CreateMessage<onnx::TypeProto>(inference.model().arena()));
    }
  }

  const onnx::AttributeProto* getAttribute(const std::string& name) const override {
    for (const auto& attribute : node_.proto->attribute()) {
      if (attribute.name() != name) continue;
      const bool is_read = !node_.Has(Role::kReadsEquation) || IsEquation(attribute.s());
      return is_read ? &attribute : nullptr;  // ONNX's inference goes round for ever at what is none
    }
    return nullptr;
  }
  // Where the axis of a split is dropped, ONNX's inference is told that no sizes are given.
  size_t getNumInputs() const override { return split_axis_ == SplitAxis::kDropped ? 1 : node_.inputs.size(); }
  const onnx::TypeProto* getInputType(size_t index) const override {
    const ValueId id = index < node_.inputs.size() ? node_.inputs[index] : kNone;
    return id == kNone ? nullptr : model().value(id).type.get();
  }
  bool hasInput(size_t index) const override { return index < node_.inputs.size() && node_.inputs[index] != kNone; }
  const onnx::TensorProto* getInputData(size_t index) const override {
    const ValueId id = index < node_.inputs.size() ? node_.inputs[index] : kNone;
    if (id == kNone || !model().IsConstant(id)) return nullptr;
    const Value& v = model().value(id);
    const onnx::TensorProto* tensor = v.initializer;
    if (tensor == nullptr) {
      for (const auto& attribute : model().node(v.producer).proto->attribute()) {
        if (attribute.name() == "value") tensor = &attribute.t();
      }
    }
    const bool inline_data = tensor != nullptr && tensor->data_location() != onnx::TensorProto::EXTERNAL;
    return inline_data ? tensor : nullptr;
  }
  size_t getNumOutputs() const override { return outputs_.size(); }
  onnx::TypeProto* getOutputType(size_t index) override { return outputs_.at(index); }
  onnx::GraphInferencer* getGraphAttributeInferencer(const std::string& name) override {
    size_t body = 0;
    for (const auto& attribute : node_.proto->attribute()) {
      if (attribute.has_g()) {
        if (attribute.name() == name) {
          return bodies_.emplace_back(std::make_unique<BodyInferencer>(inference_, node_.bodies[body])).get();
        }
        ++body;
      }
      body += static_cast<size_t>(attribute.graphs_size());
    }
    return nullptr;
  }
  const onnx::SparseTensorProto* getInputSparseData(size_t) const override { return nullptr; }
  // Takes back what the outputs have that ONNX's inference cannot know.
  void ForgetUnknownAxes() {
    if (split_axis_ != SplitAxis::kUnknown) return;
    outputs_[0]->mutable_sequence_type()->mutable_elem_type()->mutable_tensor_type()->clear_shape();
  }
  // Returns the output of Shape, as far as it is known: a value that is reshaped or expanded to it has these
  // dimensions.
  const onnx::TensorShapeProto* getSymbolicInput(size_t index) const override {
    const ValueId id = index < node_.inputs.size() ? node_.inputs[index] : kNone;
    const NodeId producer = id == kNone ? kNone : model().value(id).producer;
    const ValueId operand = producer != kNone && IsWholeShape(producer) ? model().node(producer).Input(0) : kNone;
    const onnx::TypeProto* const type = operand == kNone ? nullptr : model().value(operand).type.get();
    return type != nullptr && type->tensor_type().has_shape() ? &type->tensor_type().shape() : nullptr;
  }

 private:
  const Model& model() const { return inference_.model(); }
  bool IsWholeShape(NodeId id) const {
    const Node& node = model().node(id);
    return node.Has(Role::kReadsShape) && !node.Has(Role::kCountsElements) && !model().IsCallOfFunction(id) &&
           !HasAttribute(node, "start") && !HasAttribute(node, "end");
  }

  Inference& inference_;
  const Node& node_;
  const SplitAxis split_axis_;
  std::vector<onnx::TypeProto*> outputs_;
  std::vector<std::unique_ptr<BodyInferencer>> bodies_;
};

bool IsKnown(const onnx::TypeProto& type) {
  return type.value_case() != onnx::TypeProto::VALUE_NOT_SET &&
         !(type.has_tensor_type() && type.tensor_type().elem_type() == onnx::TensorProto::UNDEFINED);
}

// "float32[2,2], unknown"
std::string Inference::InputTypes(NodeId id) const {
  std::vector<std::string> types;
  for (const ValueId input : model_.node(id).PresentInputs()) types.push_back(TypeText(model_, input));
  return absl::StrJoin(types, ", ");
}

void Inference::InferNode(NodeId id) {
  const Node& n = model_.node(id);
  const bool is_known_call = calls_.Knows(id);
  const bool has_function =
      n.schema != nullptr && !n.schema->is_signature() && n.schema->onnx()->has_type_and_shape_inference_function();
  if (is_known_call || has_function) {
    NodeContext context(*this, id);
    try {
      if (is_known_call) {
        calls_.Infer(id, context);
      } else {
        n.schema->onnx()->GetTypeAndShapeInferenceFunction()(context);
        context.ForgetUnknownAxes();
      }
      for (size_t i = 0; i < n.outputs.size(); ++i) {
        if (n.outputs[i] == kNone || !IsKnown(*context.getOutputType(i))) continue;
        model_.AdoptType(n.outputs[i], context.getOutputType(i));
      }
    } catch (const std::bad_alloc&) {  // says nothing about the node
      throw;
    } catch (const std::exception&) {  // whose text is for who knows ONNX's sources
      const auto is_unknown = [&](ValueId value) { return value != kNone && model_.value(value).type == nullptr; };
      bool expected = std::any_of(n.inputs.begin(), n.inputs.end(), is_unknown);  // behind an unknown operator
      for (GraphId body : n.bodies) {
        const auto& outputs = model_.graph(body).outputs;
        expected |= std::any_of(outputs.begin(), outputs.end(), is_unknown);
      }
      if (!expected)
        model_.AddWarning(absl::StrCat("node '", Escaped(model_.NodeLabel(id)), "' (", Escaped(n.op_type()),
                                       "): shape inference: its inputs (", InputTypes(id),
                                       ") or attributes do not fit the operator"));
    }
  }
  for (GraphId body : n.bodies) {
    if (!visited_[body]) InferGraph(body);
  }
  if (n.schema != nullptr) FallBackToSchema(id);
}

// An output of unknown type has the element type of any input under the same type variable, or the variable's only
// type.
void Inference::FallBackToSchema(NodeId id) {
  const Node& n = model_.node(id);
  for (size_t i = 0; i < n.outputs.size(); ++i) {
    if (n.outputs[i] == kNone || model_.value(n.outputs[i]).type != nullptr) continue;
    if (n.schema->num_outputs() == 0) continue;
    const int variable = n.schema->OutputVariable(i);
    if (variable >= static_cast<int>(n.schema->variables().size())) continue;
    const auto& allowed = n.schema->variables()[static_cast<size_t>(variable)].tensor_types;
    DType dtype = DType::kUndefined;
    for (size_t t = 0; allowed.count() == 1 && t < allowed.size(); ++t) {
      if (allowed.test(t)) dtype = static_cast<DType>(t);
    }
    for (size_t port = 0; port < n.inputs.size(); ++port) {
      if (n.inputs[port] == kNone || n.schema->InputVariable(port) != variable) continue;
      if (model_.value(n.inputs[port]).is_tensor) dtype = model_.value(n.inputs[port]).dtype;
    }
    if (dtype == DType::kUndefined) continue;
    auto* type = google::protobuf::Arena::CreateMessage<onnx::TypeProto>(model_.arena());
    type->mutable_tensor_type()->set_elem_type(static_cast<int32_t>(dtype));
    model_.AdoptType(n.outputs[i], type);
  }
}

DType ElementTypeOf(const onnx::TypeProto* type) {
  const bool is_tensor = type != nullptr && type->has_tensor_type();
  return is_tensor ? static_cast<DType>(type->tensor_type().elem_type()) : DType::kUndefined;
}

bool BindsEachVariableOnce(const Model& model, const Node& node) {
  absl::flat_hash_map<int, DType> bound;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const DType type = node.inputs[i] == kNone ? DType::kUndefined : model.value(node.inputs[i]).dtype;
    if (type == DType::kUndefined) continue;
    if (bound.try_emplace(node.schema->InputVariable(i), type).first->second != type) return false;
  }
  return true;
}

// Where ONNX does not define the operator, its schema is the first signature that the node fits.
void Inference::ChooseSignature(NodeId id, const Claims& claims) {
  const Node& n = model_.node(id);
  if (n.schema != nullptr && n.schema->precedes_onnx() && !BindsEachVariableOnce(model_, n)) {
    return model_.ChooseSignature(id, nullptr);  // a runtime's own: only it knows the types of the outputs
  }
  if (n.schema != nullptr && !n.schema->is_signature()) return;
  const auto signatures = model_.SignaturesOf(id);
  if (signatures.empty() || model_.opset(n.domain()) == 0) return;
  std::vector<DType> claimed(n.outputs.size(), DType::kUndefined);
  for (size_t i = 0; i < claimed.size(); ++i) {
    if (auto it = claims.find(n.outputs[i]); it != claims.end()) claimed[i] = ElementTypeOf(it->second);
  }
  Reason first_misfit = Reason::None();
  for (const auto& signature : signatures) {
    Reason misfit = Misfit(model_, id, *signature, claimed);
    if (!misfit) return model_.ChooseSignature(id, signature.get());
    if (!first_misfit) first_misfit = std::move(misfit);
  }
  model_.ChooseSignature(id, nullptr);
  const std::string name = Escaped(OperatorLabel(n.domain(), n.op_type()));
  if (!misfits_.insert(name).second) return;
  model_.AddWarning(absl::StrCat("node '", Escaped(model_.NodeLabel(id)), "' does not fit the signature of ", name,
                                 " and is taken as unknown: ", first_misfit.sentence()));
}

// Believes the type that the file states of an output of unknown type, and its shape if a signature gave the type.
void Inference::TakeClaims(NodeId id, const Claims& claims) {
  const Node& n = model_.node(id);
  const bool by_signature = n.schema != nullptr && n.schema->is_signature();
  for (const ValueId out : n.PresentOutputs()) {
    const Value& v = model_.value(out);
    if (v.type != nullptr && !by_signature) continue;
    const auto it = claims.find(out);
    if (it == claims.end() || !IsKnown(*it->second)) continue;
    if (v.type == nullptr || v.dtype == ElementTypeOf(it->second)) model_.SetType(out, *it->second);
  }
}

// Gives a value that an unknown operator produces the type that its readers' type variables ask for.
void Inference::InferInputsFromSiblings(NodeId id) {
  const Node& n = model_.node(id);
  if (n.schema == nullptr || n.schema->num_inputs() == 0) return;
  const auto is_unknown = [&](ValueId value) { return value != kNone && model_.value(value).type == nullptr; };
  if (std::none_of(n.inputs.begin(), n.inputs.end(), is_unknown)) return;
  absl::flat_hash_map<int, DType> bound;
  const auto bind = [&](ValueId value, int variable) {
    if (value != kNone && model_.value(value).is_tensor) bound[variable] = model_.value(value).dtype;
  };
  for (size_t i = 0; i < n.inputs.size(); ++i) bind(n.inputs[i], n.schema->InputVariable(i));
  for (size_t i = 0; i < n.outputs.size() && n.schema->num_outputs() > 0; ++i) {
    bind(n.outputs[i], n.schema->OutputVariable(i));
  }
  for (size_t i = 0; i < n.inputs.size(); ++i) {
    const int variable = n.schema->InputVariable(i);
    auto it = bound.find(variable);
    if (!is_unknown(n.inputs[i]) || it == bound.end() || variable >= static_cast<int>(n.schema->variables().size()))
      continue;
    auto* type = google::protobuf::Arena::CreateMessage<onnx::TypeProto>(model_.arena());
    type->mutable_tensor_type()->set_elem_type(static_cast<int32_t>(it->second));
    model_.AdoptType(n.inputs[i], type);
  }
}

void Inference::InferGraph(GraphId graph) {
  visited_[graph] = true;
  Claims claimed;
  const onnx::GraphProto& proto = *model_.graph(graph).proto;
  const auto claim = [&](const onnx::ValueInfoProto& info) {
    auto it = model_.graph(graph).names.find(info.name());
    if (it != model_.graph(graph).names.end() && info.has_type()) claimed[it->second] = &info.type();
  };
  for (const auto& info : proto.value_info()) claim(info);
  for (const auto& info : proto.output()) claim(info);

  const std::vector<NodeId> order = model_.NodesInOrder(graph);
  for (NodeId id : order) {
    for (const ValueId out : model_.node(id).PresentOutputs()) model_.ForgetType(out);
  }
  for (NodeId id : order) {
    ChooseSignature(id, claimed);
    InferNode(id);
    TakeClaims(id, claimed);
  }
  for (NodeId id : order) InferInputsFromSiblings(id);
}

}  // namespace

void InferTypes(Model& model) { Inference(model).InferGraph(kMainGraph); }

}  // namespace amp
