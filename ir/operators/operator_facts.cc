#include "ir/operators/operator_facts.h"

#include <algorithm>
#include <cstring>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "ir/base/check.h"
#include "ir/base/convert.h"
#include "ir/file/description.h"
#include "ir/graph/attributes.h"
#include "ir/schema/schema.h"
#include "onnx/defs/schema.h"
#include "onnx/onnx_pb.h"

namespace amp {
namespace {

constexpr absl::string_view kContribDomain = "com.microsoft";

constexpr int kFirstWithInference = 6;  // before, Cast.to is a name, and no shape inference knows the result's type

enum class Absent { kFloat32, kTypeOfFirstInput, kTypeOfSecondInput };

struct TypeAttribute {
  const char* op_type;
  const char* attribute;
  Absent absent;  // what a missing attribute means
};

constexpr TypeAttribute kTypeAttributes[] = {
    {"Cast", "to", Absent::kFloat32},
    {"Bernoulli", "dtype", Absent::kTypeOfFirstInput},
    {"BlackmanWindow", "output_datatype", Absent::kFloat32},
    {"DequantizeLinear", "output_dtype", Absent::kTypeOfSecondInput},
    {"EyeLike", "dtype", Absent::kTypeOfFirstInput},
    {"HammingWindow", "output_datatype", Absent::kFloat32},
    {"HannWindow", "output_datatype", Absent::kFloat32},
    {"MelWeightMatrix", "output_datatype", Absent::kFloat32},
    {"RandomNormal", "dtype", Absent::kFloat32},
    {"RandomNormalLike", "dtype", Absent::kTypeOfFirstInput},
    {"RandomUniform", "dtype", Absent::kFloat32},
    {"RandomUniformLike", "dtype", Absent::kTypeOfFirstInput},
    {"SequenceEmpty", "dtype", Absent::kFloat32},
};

bool IsOneOf(const Node& node, std::initializer_list<const char*> operators) {
  return node.domain().empty() &&
         std::any_of(operators.begin(), operators.end(), [&](const char* op) { return node.op_type() == op; });
}

// One-element tensor of the low type `dtype`.
onnx::TensorProto ScalarTensor(float value, DType dtype) {
  onnx::TensorProto tensor;
  tensor.add_dims(1);
  tensor.set_data_type(static_cast<int32_t>(dtype));
  const uint16_t bits = NarrowOne(value, dtype);
  tensor.mutable_raw_data()->assign(reinterpret_cast<const char*>(&bits), sizeof(bits));
  return tensor;
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
    if (in_onnx && function.name() == "Cast") return "the model has a function of its own named Cast";
  }
  return Reason::None();
}

bool IsCast(const Node& node) { return IsOneOf(node, {"Cast", "CastLike"}); }

bool KeepsElementType(const Node& node) {
  return IsOneOf(node, {"SequenceConstruct", "SequenceInsert", "SequenceAt", "SequenceErase", "SplitToSequence",
                        "ConcatFromSequence", "Optional", "OptionalGetElement"});
}

bool IsSaturatingBound(const Node& node, int port) { return port > 0 && IsOneOf(node, {"Clip"}); }

bool ReadsShapeAlone(const Node& node, int port) {
  if (port != 0) return false;
  const bool takes_type = IsOneOf(node, {"EyeLike", "RandomNormalLike", "RandomUniformLike"});
  return IsOneOf(node, {"Shape", "Size"}) || (takes_type && HasAttribute(node, "dtype"));
}

bool IsLoss(const Node& node) { return IsOneOf(node, {"SoftmaxCrossEntropyLoss", "NegativeLogLikelihoodLoss"}); }

bool IsLossOrStateful(const Node& node) {
  return IsLoss(node) || IsOneOf(node, {"Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform",
                                        "RandomUniformLike"});
}

bool IsSoftmax(const Node& node) { return IsOneOf(node, {"Softmax", "LogSoftmax"}); }

bool IsHeavy(const Node& node) {
  // Fused convolutions, products and attention of ONNX Runtime.
  static const auto* const kContrib = new absl::flat_hash_set<absl::string_view>{"Attention",
                                                                                 "ConvTransposeWithDynamicPads",
                                                                                 "DecoderAttention",
                                                                                 "DecoderMaskedMultiHeadAttention",
                                                                                 "DecoderMaskedSelfAttention",
                                                                                 "FusedConv",
                                                                                 "FusedGemm",
                                                                                 "FusedMatMul",
                                                                                 "FusedMatMulActivation",
                                                                                 "GemmFastGelu",
                                                                                 "GroupQueryAttention",
                                                                                 "LinearAttention",
                                                                                 "LongformerAttention",
                                                                                 "MatMulBnb4",
                                                                                 "MatMulNBits",
                                                                                 "MoE",
                                                                                 "MultiHeadAttention",
                                                                                 "NhwcConv",
                                                                                 "NhwcFusedConv",
                                                                                 "PackedAttention",
                                                                                 "PackedMultiHeadAttention",
                                                                                 "PagedAttention",
                                                                                 "SparseAttention",
                                                                                 "TransposeMatMul"};
  if (node.domain() == kContribDomain) return kContrib->contains(node.op_type());
  return IsOneOf(node, {"MatMul", "Gemm", "Conv", "ConvTranspose", "LSTM", "GRU", "RNN", "Attention"});
}

int OpsetWithSeparateStatistics(const Node& node) {
  constexpr int kOpset = 15;
  return IsOneOf(node, {"BatchNormalization"}) && node.schema->since_version() < kOpset ? kOpset : 0;
}

bool TakesStatistics(const Node& node) {
  const auto is_unused = [](ValueId out) { return out == kNone; };
  return IsOneOf(node, {"BatchNormalization"}) && !node.outputs.empty() &&
         std::all_of(node.outputs.begin() + 1, node.outputs.end(), is_unused);
}

bool HasMalformedFill(const Node& node) {
  const onnx::TensorProto* tensor = IsOneOf(node, {"ConstantOfShape"}) ? GetTensor(node, "value") : nullptr;
  return tensor != nullptr && !(tensor->dims_size() == 0 || (tensor->dims_size() == 1 && tensor->dims(0) == 1));
}

std::optional<float> GetAttributeOperand(const Node& node) {
  if (IsOneOf(node, {"Pad"})) return GetFloat(node, "value");
  if (!IsOneOf(node, {"ConstantOfShape"})) return std::nullopt;
  const onnx::TensorProto* tensor = GetTensor(node, "value");
  if (tensor == nullptr) return 0.0f;
  if (tensor->data_type() != onnx::TensorProto::FLOAT) return std::nullopt;
  if (tensor->float_data_size() == 1) return tensor->float_data(0);
  float value;
  if (tensor->raw_data().size() != sizeof(value)) return std::nullopt;
  std::memcpy(&value, tensor->raw_data().data(), sizeof(value));
  return value;
}

std::vector<std::string> AttributesThatTypesEdit(const Node& node) {
  if (!node.domain().empty()) return {};
  if (node.op_type() == "Constant") return {"value", "value_float", "value_floats"};
  if (node.op_type() == "ConstantOfShape") return {"value"};
  if (node.op_type() == "Attention") return {"softmax_precision"};
  if (node.op_type() == "Optional") return {"type"};
  for (const TypeAttribute& row : kTypeAttributes) {
    if (node.op_type() == row.op_type) return {row.attribute};
  }
  return {};
}

bool ChoosesItsType(const Node& node) {
  if (IsOneOf(node, {"Constant"})) {
    const auto is_value = [](const onnx::AttributeProto& attribute) {
      return absl::StartsWith(attribute.name(), "value") || attribute.name() == "sparse_value";
    };
    return std::count_if(node.proto->attribute().begin(), node.proto->attribute().end(), is_value) == 1;
  }
  if (HasMalformedFill(node)) return false;
  if (IsOneOf(node, {"Optional"})) return HasAttribute(node, "type") || !node.inputs.empty();
  if (node.schema == nullptr || node.schema->is_signature()) return true;
  const auto& attributes = node.schema->onnx()->attributes();
  return std::all_of(attributes.begin(), attributes.end(), [&](const auto& attribute) {
    return !attribute.second.required || HasAttribute(node, attribute.first);
  });
}

void SyncTypeAttributes(Model& model, NodeId id) {
  const Node& node = model.node(id);
  if (node.Output(0) == kNone || !node.domain().empty()) return;
  const DType wanted = ElementType(model.value(node.Output(0)));
  if (node.op_type() == "ConstantOfShape") {
    const std::optional<float> fill = GetAttributeOperand(node);
    if (!fill.has_value() || !IsLowFloat(wanted)) return;
    onnx::TensorProto tensor = ScalarTensor(*fill, wanted);
    if (const onnx::TensorProto* before = GetTensor(node, "value"); before != nullptr) DescribeAs(*before, tensor);
    SetTensor(model, id, "value", tensor);
    return;
  }
  if (node.op_type() == "Attention") {
    if (wanted != DType::kFloat32 && !HasAttribute(node, "softmax_precision")) {
      SetDType(model, id, "softmax_precision", DType::kFloat32);
    }
    return;
  }
  if (node.op_type() == "Optional") {
    if (wanted != DType::kUndefined) SetInnerElementType(model, id, "type", wanted);
    return;
  }
  for (const TypeAttribute& row : kTypeAttributes) {
    // Older versions without the attribute take the type of an input, which is typed by the same variable.
    if (node.op_type() != row.op_type || node.schema->is_signature()) continue;
    if (node.schema->onnx()->attributes().count(row.attribute) == 0) continue;
    const auto type_of_input = [&](size_t port) { return model.value(node.Input(port)).dtype; };
    DType now = DType::kFloat32;
    if (row.absent == Absent::kTypeOfFirstInput) now = type_of_input(0);
    if (row.absent == Absent::kTypeOfSecondInput) now = type_of_input(1);
    now = GetDType(node, row.attribute).value_or(now);
    if (now != wanted && wanted != DType::kUndefined) SetDType(model, id, row.attribute, wanted);
  }
}

}  // namespace amp
