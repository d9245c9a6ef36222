// Values that a string attribute of an ONNX operator may have, where ONNX's text lists them; its schemas do not.
//
//   Resize, mode         nearest, linear, cubic
//   Einsum, equation     none: any text may stand there
#ifndef AMP_IR_OPERATORS_ATTRIBUTE_CHOICES_H_
#define AMP_IR_OPERATORS_ATTRIBUTE_CHOICES_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace amp {

// Over all versions of the operator of ai.onnx; empty where any value may stand there, or nothing is known. Tested by
// tests/passes/classify/op_lists_test.cc.
std::vector<std::string> AttributeChoices(absl::string_view op_type, absl::string_view attribute);

}  // namespace amp

#endif  // AMP_IR_OPERATORS_ATTRIBUTE_CHOICES_H_
