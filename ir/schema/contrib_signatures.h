// The built-in signatures: operators of ONNX Runtime that its optimizer and exporters write into models, version 1 of
// domain com.microsoft, and one that it adds to ai.onnx. tests/judge/rewrite/signatures.py compares them with the
// runtime's own registry.
#ifndef AMP_IR_SCHEMA_CONTRIB_SIGNATURES_H_
#define AMP_IR_SCHEMA_CONTRIB_SIGNATURES_H_

#include <vector>

#include "absl/strings/string_view.h"

namespace amp {

// In the grammar of ir/schema/op_signatures.h, in the order of the table.
std::vector<absl::string_view> ContribSignatures();

}  // namespace amp

#endif  // AMP_IR_SCHEMA_CONTRIB_SIGNATURES_H_
