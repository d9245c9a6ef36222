// Types of operators that ONNX does not define, written as text: what a runtime's own operators take and give.
//
//   my.domain::FusedGate(x: T, gate: T, bias: T?, scale: float) -> (y: T, mask: bool?) where T in {float, float16}
//   my.domain::Join(T...) -> T
//
//   signature   [DOMAIN "::"] OPERATOR "(" [port {"," port}] ")" "->" (port | "(" port {"," port} ")") ["where" limits]
//   port        [NAME ":"] type ["?" | "..."]      "?" optional; "..." any number from here on, all of that type
//   type        float, float16, bfloat16, double, int64, bool, string and so on: fixed;
//               a name that begins with a capital (T, T1, T_CACHE): a type variable, one type at all of its ports
//   limits      VARIABLE "in" "{" type {"," type} "}" {"," ...}; "integers" and "complex" stand for all types of theirs
//
// A domain of ai.onnx may be left out; there too only operators that ONNX does not define can have a signature, which
// holds at every opset. A type variable without a limit takes every type; one of outputs has to be at an input too. An
// operator may have several signatures: a node has the first one that it fits. A node that fits none is as unknown as
// one without a signature.
//
// Signatures are data of a run: a Model refers to them. The built-in ones never change.
#ifndef AMP_IR_SCHEMA_OP_SIGNATURES_H_
#define AMP_IR_SCHEMA_OP_SIGNATURES_H_

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ir/schema/schema.h"

namespace amp {

// kInvalidArgument "column N: what was expected and what was found" for a mistake, and for an operator that ONNX
// defines, whose types nothing can change.
absl::StatusOr<OpSchema> ParseOpSignature(absl::string_view text);

class OpSignatures {
 public:
  // The signatures of ir/schema/contrib_signatures.h alone.
  static std::shared_ptr<const OpSignatures> BuiltIn();
  // The signatures of `texts`, in their order, and the built-in ones of all other operators. Errors are those of
  // ParseOpSignature, with the text before them; a text that is given twice is one, too.
  static absl::StatusOr<std::shared_ptr<const OpSignatures>> WithBuiltIn(absl::Span<const std::string> texts);

  // In the order to try them; empty for an operator without any. Valid for the life of this object.
  absl::Span<const std::shared_ptr<const OpSchema>> Find(absl::string_view domain, absl::string_view op_type) const;
  // The operators of a domain ("" = ai.onnx) that have a signature, sorted; and the domains of all.
  std::vector<std::string> Operators(absl::string_view domain) const;
  std::set<std::string> Domains() const;
  // The signatures that are not built in, in their order.
  absl::Span<const std::shared_ptr<const OpSchema>> given() const { return given_; }

 private:
  std::shared_ptr<const OpSchema> Add(OpSchema schema);

  absl::flat_hash_map<std::string, std::vector<std::shared_ptr<const OpSchema>>> by_operator_;  // "domain::operator"
  std::vector<std::shared_ptr<const OpSchema>> given_;
};

}  // namespace amp

#endif  // AMP_IR_SCHEMA_OP_SIGNATURES_H_
