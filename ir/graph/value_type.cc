#include "ir/graph/value_type.h"

#include "onnx/onnx_pb.h"

namespace amp {
namespace {

using Kind = ValueType::Kind;

ValueType FromProto(const onnx::TypeProto& type) {
  if (type.has_tensor_type()) return {Kind::kTensor, static_cast<DType>(type.tensor_type().elem_type()), {}};
  if (type.has_sequence_type()) {
    return {Kind::kSequence, DType::kUndefined, {FromProto(type.sequence_type().elem_type())}};
  }
  if (type.has_optional_type()) {
    return {Kind::kOptional, DType::kUndefined, {FromProto(type.optional_type().elem_type())}};
  }
  if (type.has_map_type()) {
    return {Kind::kMap, static_cast<DType>(type.map_type().key_type()), {FromProto(type.map_type().value_type())}};
  }
  return {};
}

}  // namespace

ValueType TypeOf(const Model& model, ValueId value) {
  const Value& stated = model.value(value);
  return stated.type == nullptr ? ValueType() : FromProto(*stated.type);
}

}  // namespace amp
