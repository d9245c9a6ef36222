// Operators and model-local functions by name: "com.microsoft::Gelu", and "Gelu" in ai.onnx.
#ifndef AMP_IR_SCHEMA_OPERATOR_LABEL_H_
#define AMP_IR_SCHEMA_OPERATOR_LABEL_H_

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "ir/schema/opset_imports.h"

namespace amp {

// For messages, reports and lists. `domain`: "" for ai.onnx.
inline std::string OperatorLabel(absl::string_view domain, absl::string_view op) {
  return domain.empty() ? std::string(op) : absl::StrCat(domain, "::", op);
}

// For tables by operator: the two spellings of ai.onnx are one, and no operator of it has the key of another domain's.
inline std::string OperatorKey(absl::string_view domain, absl::string_view op) {
  return absl::StrCat(CanonicalDomain(domain), "::", op);
}

// The parts of a label as it was written, split at its last "::".
struct OperatorParts {
  bool has_domain = false;
  absl::string_view domain, op;
};
inline OperatorParts SplitOperatorLabel(absl::string_view label) {
  const size_t colons = label.rfind("::");
  if (colons == absl::string_view::npos) return {false, "", label};
  return {true, label.substr(0, colons), label.substr(colons + 2)};
}

}  // namespace amp

#endif  // AMP_IR_SCHEMA_OPERATOR_LABEL_H_
