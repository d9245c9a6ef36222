#include "runtime/run/check_node.h"

#include "ir/base/status.h"
#include "ir/schema/schema.h"
#include "runtime/kernel/no_kernel_error.h"

namespace amp {
namespace {

// Checks that the inputs that the schema requires are there. Variadic inputs are not checked.
absl::Status CheckPresent(const Node& node, const KernelContext& context) {
  if (node.schema == nullptr) return absl::OkStatus();
  const auto& ports = node.schema->inputs();
  for (size_t port = 0; port < ports.size(); ++port) {
    if (ports[port].presence == OpSchema::Presence::kRequired && !context.HasInput(port)) {
      return ModelError("expected input '", ports[port].name, "', found none");
    }
  }
  return absl::OkStatus();
}

// Whether the inputs of a fused pattern have the element types by which its nodes were recognised. Those with several
// results are recognised by operators alone: their inputs' types may be unknown to inference, and their kernels check
// them.
bool HasInferredTypes(const Model& model, const Instruction& fused, const KernelContext& context) {
  const bool may_be_unknown = fused.outputs.size() > 1;
  for (size_t i = 0; i < fused.inputs.size(); ++i) {
    const ValueId input = fused.inputs[i];
    if (input == kNone || (may_be_unknown && model.value(input).dtype == DType::kUndefined)) continue;
    if (context.Input(i).dtype() != model.value(input).dtype) return false;
  }
  return true;
}

}  // namespace

absl::Status CheckNode(const Model& model, const Instruction& instruction, const KernelContext& context) {
  if (!instruction.is_fused_pattern) return CheckPresent(model.node(instruction.node), context);
  if (HasInferredTypes(model, instruction, context)) return absl::OkStatus();
  return Refusal("inputs of other types");
}

}  // namespace amp
