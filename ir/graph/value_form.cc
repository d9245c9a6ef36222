#include "ir/graph/value_form.h"

#include "onnx/onnx_pb.h"

namespace amp {
namespace {

constexpr int kMostDepth = 16;  // of a type that is told apart; deeper ones are unknown

ValueForm FormOfType(const onnx::TypeProto& type, int depth) {
  ValueForm form;
  if (depth > kMostDepth) return form;
  if (type.has_optional_type()) return FormOfType(type.optional_type().elem_type(), depth + 1);
  if (type.has_tensor_type()) {
    form.kind = ValueForm::Kind::kTensor;
  } else if (type.has_map_type()) {
    form.kind = ValueForm::Kind::kMap;
  } else if (type.has_sequence_type()) {
    form.kind = ValueForm::Kind::kSequence;
    form.element.push_back(FormOfType(type.sequence_type().elem_type(), depth + 1));
  }
  return form;
}

}  // namespace

ValueForm FormOf(const Model& model, ValueId value) {
  const auto& type = model.value(value).type;
  return type == nullptr ? ValueForm() : FormOfType(*type, 0);
}

}  // namespace amp
