#include "runtime/execution.h"

#include <utility>

#include "absl/container/inlined_vector.h"
#include "ir/base/status.h"
#include "ir/schema/schema.h"

namespace amp {
namespace {

// Inputs that the schema requires, as far as their number does not vary.
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

}  // namespace

Execution::Execution(const Model& model, const Program& program, RunResources& resources)
    : model_(model), program_(program), resources_(resources), frame_(program.constants) {}

absl::StatusOr<std::vector<Datum>> Execution::Run(GraphId graph, std::vector<Datum> inputs) {
  const Graph& scope = model_.graph(graph);
  if (inputs.size() != scope.inputs.size()) {
    return ModelError("expected ", scope.inputs.size(), " inputs of the body, found ", inputs.size());
  }
  for (size_t i = 0; i < inputs.size(); ++i) Keep(scope.inputs[i], std::move(inputs[i]));
  for (const Instruction& instruction : program_.blocks[graph]) {
    if (absl::Status status = RunNode(instruction); !status.ok()) {
      return absl::Status(status.code(), absl::StrCat(Describe(model_, instruction.node), ": ", status.message()));
    }
  }
  std::vector<Datum> outputs;
  for (const ValueId output : scope.outputs) outputs.push_back(output == kNone ? Datum() : frame_[output]);
  for (const ValueId output : scope.outputs) {
    const bool is_own = output != kNone && model_.value(output).graph == graph;
    if (is_own && program_.constants[output].IsEmpty()) frame_[output] = Datum();
  }
  return outputs;
}

void Execution::Keep(ValueId value, Datum datum) {
  if (observer_ != nullptr) (*observer_)(value, datum);
  frame_[value] = std::move(datum);
}

absl::Status Execution::RunNode(const Instruction& instruction) {
  const Node& node = model_.node(instruction.node);
  absl::InlinedVector<const Datum*, 6> inputs;
  for (const ValueId input : node.inputs) inputs.push_back(input == kNone ? nullptr : &frame_[input]);
  std::vector<Datum> outputs(node.outputs.size());
  KernelContext context(model_, instruction.node, inputs, absl::MakeSpan(outputs), resources_, *this);
  AMP_RETURN_IF_ERROR(CheckPresent(node, context));
  AMP_RETURN_IF_ERROR(instruction.kernel->function(context));
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (node.outputs[i] != kNone) Keep(node.outputs[i], std::move(outputs[i]));
  }
  for (const ValueId value : instruction.frees) frame_[value] = Datum();
  return absl::OkStatus();
}

}  // namespace amp
