// The types of operators: a façade over the schemas of the linked ONNX library, and over the
// signatures of operators that ONNX does not define (ir/schema/op_signatures.h).
//
//   MatMul-13: inputs A:T, B:T, output Y:T, T in {float32, float16, bfloat16, ...}
//   Resize-13: inputs X:T1, roi:T2, scales:(fixed float32), sizes:(fixed int64), output Y:T1
//
// A type variable is identified by its index in `variables`. A port whose type cannot change has its own variable with
// exactly one allowed type. Ports of a heterogeneous variadic (Loop's carried values) get one variable per position.
// Nothing about an operator's types is restated by hand where the schema knows it.
#ifndef AMP_IR_SCHEMA_SCHEMA_H_
#define AMP_IR_SCHEMA_SCHEMA_H_

#include <bitset>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "ir/base/dtype.h"

namespace onnx {
class OpSchema;
}

namespace amp {

class OpSchema {
 public:
  struct Variable {
    std::string name;                              // "T", or the type itself for a fixed port: "tensor(float)"
    std::bitset<kNumDTypes> tensor_types;          // allowed element types of dense tensors
    std::bitset<kNumDTypes> contained_types = {};  // and of the tensors in sequences and optionals
  };

  enum class Presence : uint8_t { kRequired, kOptional, kVariadic };
  struct Port {
    std::string name;
    int variable = 0;  // without meaning for a heterogeneous variadic
    Presence presence = Presence::kRequired;
    bool heterogeneous = false;
  };

  // A schema of an operator that ONNX does not define: nothing is known but the types of its ports.
  OpSchema(std::string domain, std::string name, std::vector<Variable> variables, std::vector<Port> inputs,
           std::vector<Port> outputs);

  absl::string_view name() const { return name_; }
  absl::string_view domain() const { return domain_; }
  int since_version() const { return since_version_; }
  bool deprecated() const { return deprecated_; }

  // Index of the variable that types input / output `port`; variadic ports repeat the last one. For a heterogeneous
  // variadic the index is >= variables().size() and names the position: variables().size() + offset.
  int InputVariable(size_t port) const;
  int OutputVariable(size_t port) const;
  // Formal parameters; 0 for the few schemas without any.
  int num_inputs() const { return static_cast<int>(inputs_.size()); }
  int num_outputs() const { return static_cast<int>(outputs_.size()); }
  const std::vector<Port>& inputs() const { return inputs_; }
  const std::vector<Port>& outputs() const { return outputs_; }
  const std::vector<Variable>& variables() const { return variables_; }
  bool Allows(int variable, DType type) const { return TypesOf(variable).tensor_types.test(static_cast<size_t>(type)); }
  bool AllowsContained(int variable, DType type) const {
    return TypesOf(variable).contained_types.test(static_cast<size_t>(type));
  }

  // ONNX's own schema, with attributes and shape inference; null for a signature.
  const onnx::OpSchema* onnx() const { return onnx_; }
  bool is_signature() const { return onnx_ == nullptr; }
  // The form that ONNX gave the operator later than the opset at hand; a runtime had it before, with freer types.
  bool precedes_onnx() const { return precedes_onnx_; }

 private:
  friend const OpSchema* FindOpSchema(absl::string_view, absl::string_view, int);
  explicit OpSchema(const onnx::OpSchema& schema);
  static const OpSchema* EarlyForm(absl::string_view op_type, int opset);
  int VariableOf(const std::vector<Port>& ports, size_t port) const;
  const Variable& TypesOf(int variable) const {
    return variable < static_cast<int>(variables_.size()) ? variables_[static_cast<size_t>(variable)] : heterogeneous_;
  }

  std::string name_, domain_;
  int since_version_ = 0;
  bool deprecated_ = false;
  bool precedes_onnx_ = false;
  std::vector<Variable> variables_;
  std::vector<Port> inputs_, outputs_;
  Variable heterogeneous_;  // what the positions of a heterogeneous variadic allow
  const onnx::OpSchema* onnx_ = nullptr;
};

// The schema in force at `opset`, or null; for an operator that a runtime had before ONNX, the form that ONNX gave it.
// Cached for the life of the process; safe from several threads.
const OpSchema* FindOpSchema(absl::string_view domain, absl::string_view op_type, int opset);

// Newest opset of ai.onnx that the linked ONNX library knows, and the IR version that `opset` needs at least.
int NewestOpset();
int IrVersionForOpset(int opset);
int NewestIrVersion();

// All names that the registry knows in `domain`, sorted; for list validation and "did you mean".
const std::vector<std::string>& RegisteredOperators(absl::string_view domain);
// The domains that it knows, "" for ai.onnx.
std::vector<std::string> RegisteredDomains();

}  // namespace amp

#endif  // AMP_IR_SCHEMA_SCHEMA_H_
