#include "ir/operators/operator_facts.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "ir/base/check.h"
#include "ir/base/convert.h"
#include "ir/file/description.h"
#include "ir/graph/attributes.h"
#include "ir/graph/constant.h"
#include "ir/operators/node_facts.h"
#include "ir/schema/operator_table.h"
#include "ir/schema/schema.h"
#include "onnx/defs/schema.h"
#include "onnx/onnx_pb.h"

namespace amp {
namespace {

constexpr int kFirstWithInference = 6;  // before, Cast.to is a name, and no shape inference knows the result's type

using Form = TypeAttribute::Form;

// One-element tensor of the low type `dtype`.
onnx::TensorProto ScalarTensor(float value, DType dtype) {
  onnx::TensorProto tensor;
  tensor.add_dims(1);
  tensor.set_data_type(static_cast<int32_t>(dtype));
  const uint16_t bits = NarrowOne(value, dtype);
  tensor.mutable_raw_data()->assign(reinterpret_cast<const char*>(&bits), sizeof(bits));
  return tensor;
}

void SyncNumber(Model& model, NodeId id, DType wanted) {
  const Node& node = model.node(id);
  const TypeAttribute& attribute = node.op->type_attribute;
  // Older versions without the attribute take the type of an input, which is typed by the same variable.
  if (node.schema->is_signature() || node.schema->onnx()->attributes().count(std::string(attribute.name)) == 0) return;
  const auto type_of_input = [&](size_t port) { return model.value(node.Input(port)).dtype; };
  DType now = DType::kFloat32;
  if (attribute.absent == TypeAttribute::Absent::kTypeOfFirstInput) now = type_of_input(0);
  if (attribute.absent == TypeAttribute::Absent::kTypeOfSecondInput) now = type_of_input(1);
  now = GetDType(node, attribute.name).value_or(now);
  if (now != wanted && wanted != DType::kUndefined) SetDType(model, id, attribute.name, wanted);
}

void SyncFill(Model& model, NodeId id, DType wanted) {
  const Node& node = model.node(id);
  const std::optional<float> fill = GetAttributeOperand(node);
  if (!fill.has_value() || !IsLowFloat(wanted)) return;
  onnx::TensorProto tensor = ScalarTensor(*fill, wanted);
  const absl::string_view name = node.op->type_attribute.name;
  if (const onnx::TensorProto* before = GetTensor(node, name); before != nullptr) DescribeAs(*before, tensor);
  SetTensor(model, id, name, tensor);
}

// Opsets 1 and 6 drop unless the attribute is_test says otherwise, 7 and 10 never do, 12 and later have an input for
// it.
bool MayDrop(const Model& model, const Node& node) {
  constexpr int kFirstThatNeverDrops = 7, kTrainingMode = 2;
  const bool has_test = node.schema != nullptr && node.schema->since_version() < kFirstThatNeverDrops;
  if (has_test) return GetInt(node, "is_test", 0) == 0;
  const ValueId training = node.Input(kTrainingMode);
  return training != kNone && ScalarConstant(model, training) != 0.0;
}

}  // namespace

int FirstOpsetWithCasts(DType low) {
  for (int opset = kFirstWithInference;; ++opset) {
    const OpSchema& cast = *FindOpSchema("", "Cast", opset);
    if (cast.Allows(cast.InputVariable(0), low) && cast.Allows(cast.OutputVariable(0), low)) return opset;
  }
}

Reason ObstacleToCasts(const Model& model, DType low) {
  const int opset = model.opset(""), first = FirstOpsetWithCasts(low);
  if (opset == 0) return "the model imports no opset of ai.onnx, which its casts would be of";
  if (opset < kFirstWithInference) {
    return absl::StrCat("opset ", opset, " is too old for casts whose result has a known type");
  }
  if (opset < first) {
    return absl::StrCat("opset ", opset, " is too old for casts to ", DTypeName(low), ", which came with ", first);
  }
  for (const auto& function : model.proto().functions()) {
    const bool in_onnx = function.domain().empty() || function.domain() == "ai.onnx";
    if (in_onnx && FindOperator("", function.name()).Has(Role::kPlainCast)) {
      return "the model has a function of its own named Cast";
    }
  }
  return Reason::None();
}

bool IsCast(const Node& node) { return node.Has(Role::kCasts); }

bool IsPlainCast(const Model& model, NodeId id) {
  const Node& node = model.node(id);
  return node.Has(Role::kPlainCast) && !model.IsCallOfFunction(id) && node.bodies.empty() && node.inputs.size() == 1 &&
         node.Input(0) != kNone && node.outputs.size() == 1 && node.Output(0) != kNone;
}

bool KeepsElementType(const Node& node) { return node.Has(Role::kContains); }

bool ReadsShapeAlone(const Node& node, size_t port) {
  if (port != 0) return false;
  return node.Has(Role::kReadsShape) ||
         (node.Has(Role::kShapedLike) && HasAttribute(node, node.op->type_attribute.name));
}

bool CopiesElements(const Model& model, NodeId id) {
  const Node& node = model.node(id);
  if (node.Has(Role::kDrops)) return !MayDrop(model, node);
  if (!node.op->roles.HasAny(Role::kMoves | Role::kCopies)) return false;
  const AttributeCondition& where = node.op->copies_where;
  return where.name.empty() || NodeFact(model, id, where.name) == where.value;
}

bool IsLoss(const Node& node) { return node.Has(Role::kLoss); }

bool IsLossOrStateful(const Node& node) { return node.op->roles.HasAny(Role::kLoss | Role::kRandom); }

bool IsSoftmax(const Node& node) { return node.Has(Role::kSoftmax); }

bool IsHeavy(const Node& node) { return node.Has(Role::kHeavy); }

int OpsetWithSeparateStatistics(const Node& node) {
  const int opset = node.op->separate_statistics;
  return opset > 0 && node.schema->since_version() < opset ? opset : 0;
}

bool TakesStatistics(const Node& node) {
  const auto is_unused = [](ValueId out) { return out == kNone; };
  return node.Has(Role::kTracksStatistics) && !node.outputs.empty() &&
         std::all_of(node.outputs.begin() + 1, node.outputs.end(), is_unused);
}

bool HasMalformedFill(const Node& node) {
  const TypeAttribute& attribute = node.op->type_attribute;
  const onnx::TensorProto* tensor = attribute.form == Form::kFill ? GetTensor(node, attribute.name) : nullptr;
  return tensor != nullptr && !(tensor->dims_size() == 0 || (tensor->dims_size() == 1 && tensor->dims(0) == 1));
}

std::optional<float> GetAttributeOperand(const Node& node) {
  if (node.Has(Role::kPads)) return GetFloat(node, "value");
  const TypeAttribute& attribute = node.op->type_attribute;
  if (attribute.form != Form::kFill) return std::nullopt;
  const onnx::TensorProto* tensor = GetTensor(node, attribute.name);
  if (tensor == nullptr) return 0.0f;
  if (tensor->data_type() != onnx::TensorProto::FLOAT) return std::nullopt;
  if (tensor->float_data_size() == 1) return tensor->float_data(0);
  float value;
  if (tensor->raw_data().size() != sizeof(value)) return std::nullopt;
  std::memcpy(&value, tensor->raw_data().data(), sizeof(value));
  return value;
}

std::vector<std::string> AttributesThatTypesEdit(const Node& node) {
  const TypeAttribute& attribute = node.op->type_attribute;
  switch (attribute.form) {
    case Form::kNone:
      return {};
    case Form::kTensor:
      return {"value", "value_float", "value_floats"};
    case Form::kNumber:
    case Form::kFill:
    case Form::kTypeProto:
    case Form::kSoftmaxPrecision:
      return {std::string(attribute.name)};
  }
  return {};
}

bool ChoosesItsType(const Node& node) {
  const TypeAttribute& attribute = node.op->type_attribute;
  if (attribute.form == Form::kTensor) {
    const auto is_value = [](const onnx::AttributeProto& a) {
      return absl::StartsWith(a.name(), "value") || a.name() == "sparse_value";
    };
    return std::count_if(node.proto->attribute().begin(), node.proto->attribute().end(), is_value) == 1;
  }
  if (HasMalformedFill(node)) return false;
  if (attribute.form == Form::kTypeProto) return HasAttribute(node, attribute.name) || !node.inputs.empty();
  if (node.schema == nullptr || node.schema->is_signature()) return true;
  const auto& attributes = node.schema->onnx()->attributes();
  return std::all_of(attributes.begin(), attributes.end(), [&](const auto& declared) {
    return !declared.second.required || HasAttribute(node, declared.first);
  });
}

void SyncTypeAttributes(Model& model, NodeId id) {
  const Node& node = model.node(id);
  if (node.Output(0) == kNone) return;
  const DType wanted = ElementType(model.value(node.Output(0)));
  const TypeAttribute& attribute = node.op->type_attribute;
  switch (attribute.form) {
    case Form::kNone:
    case Form::kTensor:
      return;
    case Form::kNumber:
      return SyncNumber(model, id, wanted);
    case Form::kFill:
      return SyncFill(model, id, wanted);
    case Form::kTypeProto:
      if (wanted != DType::kUndefined) SetInnerElementType(model, id, attribute.name, wanted);
      return;
    case Form::kSoftmaxPrecision:
      if (wanted != DType::kFloat32 && !HasAttribute(node, attribute.name)) {
        SetDType(model, id, attribute.name, DType::kFloat32);
      }
      return;
  }
}

}  // namespace amp
