// The part of ValidateModel that judges one attribute: its kind against the fields that are filled in, and the values
// that no operator can work with, whatever the shapes: zero strides, negative padding, a perm that is no permutation.
#ifndef AMP_IR_FILE_VALIDATE_ATTRIBUTE_H_
#define AMP_IR_FILE_VALIDATE_ATTRIBUTE_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "ir/base/limits.h"
#include "onnx/onnx_pb.h"

namespace amp {

enum class InFunction { kNo, kYes };  // inside the body of a model-local function, where attributes may be references

// The kind that the filled-in field stands for; UNDEFINED if none or several are.
onnx::AttributeProto::AttributeType KindOfFields(const onnx::AttributeProto& attribute);

absl::Status ValidateAttributeForm(const onnx::AttributeProto& attribute, int64_t ir_version, InFunction in_function);

// Every attribute has a name, and no two the same.
absl::Status ValidateAttributeNames(const onnx::NodeProto& node);

// A Constant of ai.onnx has one value at most; the schema says so in words alone. Runtimes that load two take the one
// that is written first, others refuse. References do not count: a call may leave them out.
absl::Status ValidateConstantValues(const onnx::NodeProto& node);

// REQUIRES: ValidateAttributeForm passed, and `op_type` is an operator of ai.onnx.
absl::Status ValidateAttributeValue(absl::string_view op_type, const onnx::AttributeProto& attribute,
                                    const Limits& limits);

}  // namespace amp

#endif  // AMP_IR_FILE_VALIDATE_ATTRIBUTE_H_
