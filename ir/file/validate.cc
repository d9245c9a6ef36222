#include "ir/file/validate.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"
#include "ir/base/status.h"
#include "ir/file/model_walk.h"
#include "ir/file/validate_attribute.h"
#include "ir/file/validate_calls.h"
#include "ir/file/validate_tensor.h"
#include "ir/schema/operator_table.h"
#include "ir/schema/opset_imports.h"
#include "ir/schema/schema.h"
#include "ir/schema/schema_index.h"
#include "onnx/defs/schema.h"
#include "onnx/onnx_pb.h"

namespace amp {
namespace {

// Domain -> version of one opset_import list.
using Imports = absl::flat_hash_map<absl::string_view, int64_t>;
using ImportList = google::protobuf::RepeatedPtrField<onnx::OperatorSetIdProto>;
using NodeList = google::protobuf::RepeatedPtrField<onnx::NodeProto>;

Imports ImportsOf(const ImportList& list) {
  Imports imports;
  for (const auto& import : list) imports[CanonicalDomain(import.domain())] = import.version();
  return imports;
}

class Validator {
 public:
  Validator(const onnx::ModelProto& model, const Limits& limits, std::vector<std::string>* warnings,
            const LeftOutPayloads* left_out)
      : model_(model), limits_(limits), warnings_(warnings), left_out_(left_out) {}

  absl::Status Run() {
    if (!model_.has_graph()) return ModelError("the model: expected a graph, found none");
    if (model_.ir_version() < 1 || model_.ir_version() > NewestIrVersion()) {
      return ModelError("the model: expected an IR version of 1 to ", NewestIrVersion(), ", found ",
                        model_.ir_version());
    }
    AMP_RETURN_IF_ERROR(ValidateImports(model_.opset_import(), "the model"));
    AMP_RETURN_IF_ERROR(RegisterFunctions());
    imports_ = ImportsOf(model_.opset_import());
    if (model_.ir_version() < 3) imports_.try_emplace("", 1);  // imports came with IR version 3
    AMP_RETURN_IF_ERROR(ValidateGraph(model_.graph(), 1));
    for (const auto& training : model_.training_info()) {
      if (training.has_initialization()) AMP_RETURN_IF_ERROR(ValidateGraph(training.initialization(), 1));
      if (training.has_algorithm()) AMP_RETURN_IF_ERROR(ValidateGraph(training.algorithm(), 1));
    }
    in_function_ = true;
    for (const auto& function : model_.functions()) AMP_RETURN_IF_ERROR(ValidateFunction(function));
    return ValidateCallGraph(model_, calls_, limits_);
  }

 private:
  CallGraph::Body& caller() {
    return current_function_ < 0 ? calls_.main : calls_.functions[static_cast<size_t>(current_function_)];
  }

  absl::Status ValidateImports(const ImportList& list, absl::string_view where) {
    absl::flat_hash_set<absl::string_view> seen;
    for (const auto& import : list) {
      if (!seen.insert(CanonicalDomain(import.domain())).second) {
        return ModelError(where, ": expected one opset import of domain ",
                          Escaped(ShownDomain(CanonicalDomain(import.domain()))), ", found several");
      }
      const bool standard = CanonicalDomain(import.domain()).empty();
      const int64_t newest = standard ? NewestOpset() : INT32_MAX;
      if (import.version() >= 1 && import.version() <= newest) continue;
      return ModelError(where, ": opset of domain ", Escaped(ShownDomain(CanonicalDomain(import.domain()))),
                        ": expected a version of 1 to ", newest, ", found ", import.version());
    }
    return absl::OkStatus();
  }

  absl::Status RegisterFunctions() {
    if (model_.functions_size() > limits_.functions) {
      return LimitError("the model: expected at most ", limits_.functions, " functions, found ",
                        model_.functions_size());
    }
    for (int i = 0; i < model_.functions_size(); ++i) {
      const auto& function = model_.functions(i);
      if (function.name().empty()) return ModelError("function ", i, ": expected a name, found none");
      if (functions_.try_emplace(FunctionKeyOf(function), i).second) continue;
      return ModelError("function '", Escaped(function.name()), "': expected one definition, found several");
    }
    calls_.functions.resize(static_cast<size_t>(model_.functions_size()));
    return absl::OkStatus();
  }

  absl::Status ValidateFunction(const onnx::FunctionProto& function) {
    const std::string where = absl::StrCat("function '", Escaped(function.name()), "'");
    AMP_RETURN_IF_ERROR(ValidateImports(function.opset_import(), where));
    absl::flat_hash_set<absl::string_view> attributes, inputs;
    for (const auto& name : function.attribute()) {
      if (!attributes.insert(name).second) return ModelError(where, ": attribute '", Escaped(name), "' is given twice");
    }
    for (const auto& attribute : function.attribute_proto()) {
      if (!attributes.insert(attribute.name()).second) {
        return ModelError(where, ": attribute '", Escaped(attribute.name()), "' is given twice");
      }
      AMP_RETURN_IF_ERROR(At(where, ValidateAttributeForm(attribute, model_.ir_version(), InFunction::kNo)));
      AMP_RETURN_IF_ERROR(At(where, ValidateAttributePayload(attribute, 1)));
    }
    for (const auto& name : function.input()) {
      if (!inputs.insert(name).second) return ModelError(where, ": input '", Escaped(name), "' is given twice");
    }
    imports_ = ImportsOf(function.opset_import());
    if (model_.ir_version() < 3) imports_.try_emplace("", 1);
    current_function_ = functions_[FunctionKeyOf(function)];
    for (const auto& info : function.value_info()) AMP_RETURN_IF_ERROR(At(where, ValidateValueInfo(info)));
    return At(where, ValidateNodes(function.node(), 1));
  }

  static absl::Status At(absl::string_view where, const absl::Status& status) {
    if (status.ok()) return status;
    return absl::Status(status.code(), absl::StrCat(absl::string_view(where), ": ", status.message()));
  }

  absl::Status ValidateGraph(const onnx::GraphProto& graph, int depth) {
    if (depth > limits_.graph_depth) {
      return LimitError("expected at most ", limits_.graph_depth, " graphs within graphs, found more");
    }
    initializers_ += graph.initializer_size() + graph.sparse_initializer_size();
    if (initializers_ > limits_.initializers) {
      return LimitError("the model: expected at most ", limits_.initializers, " initializers, found more");
    }
    for (const auto& tensor : graph.initializer()) {
      if (absl::Status status = ValidateTensor(tensor, limits_, left_out_); !status.ok()) {
        return At(absl::StrCat("initializer '", Escaped(tensor.name()), "'"), status);
      }
    }
    for (const auto& sparse : graph.sparse_initializer()) {
      if (absl::Status status = ValidateSparseTensor(sparse, limits_, left_out_); !status.ok()) {
        return At(absl::StrCat("initializer '", Escaped(sparse.values().name()), "'"), status);
      }
    }
    for (const auto* list : {&graph.input(), &graph.output(), &graph.value_info()}) {
      for (const auto& info : *list) AMP_RETURN_IF_ERROR(ValidateValueInfo(info));
    }
    return ValidateNodes(graph.node(), depth);
  }

  absl::Status ValidateValueInfo(const onnx::ValueInfoProto& info) {
    if (!info.has_type()) return absl::OkStatus();
    absl::Status status = ValidateType(info.type(), 0);
    return status.ok() ? status : At(absl::StrCat("value '", Escaped(info.name()), "'"), status);
  }

  absl::Status ValidateType(const onnx::TypeProto& type, int depth) {
    if (depth > limits_.nesting)
      return LimitError("expected at most ", limits_.nesting, " types within types, found more");
    const auto element = [&](int64_t element_type, const onnx::TensorShapeProto& shape) -> absl::Status {
      if (element_type != 0 && !IsKnownElementType(element_type)) {
        return ModelError("expected an element type of 1 to ", kNumDTypes - 1, ", found ", element_type);
      }
      if (shape.dim_size() <= limits_.rank) return absl::OkStatus();
      return LimitError("expected at most ", limits_.rank, " dimensions, found ", shape.dim_size());
    };
    switch (type.value_case()) {
      case onnx::TypeProto::kTensorType:
        return element(type.tensor_type().elem_type(), type.tensor_type().shape());
      case onnx::TypeProto::kSparseTensorType:
        return element(type.sparse_tensor_type().elem_type(), type.sparse_tensor_type().shape());
      case onnx::TypeProto::kSequenceType:
        return ValidateType(type.sequence_type().elem_type(), depth + 1);
      case onnx::TypeProto::kOptionalType:
        return ValidateType(type.optional_type().elem_type(), depth + 1);
      case onnx::TypeProto::kMapType:
        if (!IsKnownElementType(type.map_type().key_type())) {
          return ModelError("expected a key type of 1 to ", kNumDTypes - 1, ", found ", type.map_type().key_type());
        }
        return ValidateType(type.map_type().value_type(), depth + 1);
      case onnx::TypeProto::kOpaqueType:
      case onnx::TypeProto::VALUE_NOT_SET:
        return absl::OkStatus();
    }
    return absl::OkStatus();
  }

  absl::Status ValidateNodes(const NodeList& nodes, int depth) {
    nodes_ += nodes.size();
    if (nodes_ > limits_.nodes) {
      return LimitError("the model: expected at most ", limits_.nodes, " nodes, found more");
    }
    caller().nodes += nodes.size();
    int index = 0;
    for (const auto& node : nodes) {
      if (absl::Status status = ValidateNode(node, depth); !status.ok()) {
        const std::string label =
            node.name().empty() ? absl::StrCat("#", index) : absl::StrCat("'", Escaped(node.name()), "'");
        return At(absl::StrCat("node ", label, " (", Escaped(node.op_type()), ")"), status);
      }
      ++index;
    }
    return absl::OkStatus();
  }

  absl::Status ValidateNode(const onnx::NodeProto& node, int depth) {
    if (node.op_type().empty()) return ModelError("expected an operator type, found none");
    if (absl::Status status = ValidateAttributeNames(node); !status.ok()) return status;
    const bool standard = CanonicalDomain(node.domain()).empty();
    const bool is_constant = standard && FindOperator("", node.op_type()).Has(Role::kConstant);
    if (is_constant) AMP_RETURN_IF_ERROR(ValidateConstantValues(node));
    const onnx::OpSchema* schema = nullptr;
    if (auto callee = functions_.find(FunctionKeyOf(node)); callee != functions_.end()) {
      ++caller().callees[callee->second];
      AMP_RETURN_IF_ERROR(ValidateCallArity(node, model_.functions(callee->second)));
    } else {
      auto import = imports_.find(CanonicalDomain(node.domain()));
      if (import == imports_.end() && standard) {
        return ModelError("expected an opset import of domain ai.onnx, found none");
      }
      if (import == imports_.end() && unimported_.insert(CanonicalDomain(node.domain())).second) {
        warnings_->push_back(
            absl::StrCat("domain ", Escaped(node.domain()), " is not imported; its operators are taken as unknown"));
      }
      if (import != imports_.end()) {
        schema = schemas_.Find(CanonicalDomain(node.domain()), node.op_type(), import->second);
        if (schema != nullptr) AMP_RETURN_IF_ERROR(ValidateAgainstSchema(node, *schema));
      }
    }
    const InFunction in_function = in_function_ ? InFunction::kYes : InFunction::kNo;
    for (const auto& attribute : node.attribute()) {
      absl::Status status = ValidateAttributeForm(attribute, model_.ir_version(), in_function);
      if (status.ok() && schema != nullptr && standard) {
        status = ValidateAttributeValue(node.op_type(), attribute, limits_);
      }
      if (status.ok()) status = ValidateAttributePayload(attribute, depth);
      if (!status.ok()) return At(absl::StrCat("attribute '", Escaped(attribute.name()), "'"), status);
    }
    return absl::OkStatus();
  }

  static absl::Status ValidateCallArity(const onnx::NodeProto& node, const onnx::FunctionProto& function) {
    if (node.input_size() > function.input_size()) {
      return ModelError("expected at most ", function.input_size(), " inputs, found ", node.input_size());
    }
    if (node.output_size() > function.output_size()) {
      return ModelError("expected at most ", function.output_size(), " outputs, found ", node.output_size());
    }
    return absl::OkStatus();
  }

  static absl::Status ValidatePorts(absl::string_view what,
                                    const google::protobuf::RepeatedPtrField<std::string>& names,
                                    const std::vector<onnx::OpSchema::FormalParameter>& formals, int least, int most) {
    if (names.size() < least || names.size() > most) {
      return ModelError("expected ", least == most ? absl::StrCat(least) : absl::StrCat("at least ", least),
                        least == most || most == INT32_MAX ? "" : absl::StrCat(" and at most ", most), " ", what,
                        ", found ", names.size());
    }
    for (int i = 0; i < names.size() && i < static_cast<int>(formals.size()); ++i) {
      if (!names[i].empty() || formals[static_cast<size_t>(i)].GetOption() != onnx::OpSchema::Single) continue;
      return ModelError("expected a name for ", what, " number ", i, ", found none");
    }
    return absl::OkStatus();
  }

  absl::Status ValidateAgainstSchema(const onnx::NodeProto& node, const onnx::OpSchema& schema) {
    if (schema.deprecated()) return ModelError("the operator is deprecated since opset ", schema.SinceVersion());
    AMP_RETURN_IF_ERROR(ValidatePorts("inputs", node.input(), schema.inputs(), schema.min_input(), schema.max_input()));
    AMP_RETURN_IF_ERROR(
        ValidatePorts("outputs", node.output(), schema.outputs(), schema.min_output(), schema.max_output()));
    for (const std::string& name : schemas_.RequiredAttributes(schema)) {
      const bool present = std::any_of(node.attribute().begin(), node.attribute().end(),
                                       [&](const auto& attribute) { return attribute.name() == name; });
      if (!present) return ModelError("expected attribute '", name, "', found none");
    }
    for (const auto& attribute : node.attribute()) {
      auto declared = schema.attributes().find(attribute.name());
      if (declared == schema.attributes().end()) {
        // Another version's attribute would mean something that this version cannot see; a stranger's means nothing.
        if (!schemas_.AnyVersionDeclares(schema, attribute.name())) continue;
        return ModelError("attribute '", Escaped(attribute.name()), "': expected one of opset ", schema.SinceVersion(),
                          " of the operator, found one of another version");
      }
      const auto expected = declared->second.type;
      if (attribute.type() == expected) continue;
      if (attribute.type() == onnx::AttributeProto::UNDEFINED && KindOfFields(attribute) == expected) continue;
      return ModelError("attribute '", Escaped(attribute.name()), "': expected kind ",
                        onnx::AttributeProto_AttributeType_Name(expected), ", found ",
                        onnx::AttributeProto_AttributeType_Name(attribute.type()));
    }
    return absl::OkStatus();
  }

  absl::Status ValidateAttributePayload(const onnx::AttributeProto& attribute, int depth) {
    if (attribute.has_t()) AMP_RETURN_IF_ERROR(ValidateTensor(attribute.t(), limits_, left_out_));
    for (const auto& tensor : attribute.tensors()) AMP_RETURN_IF_ERROR(ValidateTensor(tensor, limits_, left_out_));
    if (attribute.has_sparse_tensor()) {
      AMP_RETURN_IF_ERROR(ValidateSparseTensor(attribute.sparse_tensor(), limits_, left_out_));
    }
    for (const auto& sparse : attribute.sparse_tensors()) {
      AMP_RETURN_IF_ERROR(ValidateSparseTensor(sparse, limits_, left_out_));
    }
    if (attribute.has_tp()) AMP_RETURN_IF_ERROR(ValidateType(attribute.tp(), 0));
    for (const auto& type : attribute.type_protos()) AMP_RETURN_IF_ERROR(ValidateType(type, 0));
    if (attribute.has_g()) AMP_RETURN_IF_ERROR(ValidateGraph(attribute.g(), depth + 1));
    for (const auto& graph : attribute.graphs()) AMP_RETURN_IF_ERROR(ValidateGraph(graph, depth + 1));
    return absl::OkStatus();
  }

  const onnx::ModelProto& model_;
  const Limits& limits_;
  std::vector<std::string>* warnings_;
  const LeftOutPayloads* left_out_;
  Imports imports_;  // of the model or function being validated
  bool in_function_ = false;
  int current_function_ = -1;
  int64_t nodes_ = 0, initializers_ = 0;
  absl::flat_hash_map<FunctionKey, int> functions_;
  CallGraph calls_;
  SchemaIndex schemas_;
  absl::flat_hash_set<absl::string_view> unimported_;  // domains warned about
};

}  // namespace

absl::Status ValidateModel(const onnx::ModelProto& model, const Limits& limits, std::vector<std::string>* warnings,
                           const LeftOutPayloads* left_out) {
  return Validator(model, limits, warnings, left_out).Run();
}

}  // namespace amp
