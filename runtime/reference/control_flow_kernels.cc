// If, Loop and SequenceMap: operators that run graphs. (Scan: scan_loop_kernels.cc.)
#include <algorithm>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "ir/graph/shape.h"
#include "runtime/reference/families.h"
#include "runtime/reference/stack.h"

namespace amp {
namespace {

absl::StatusOr<bool> Condition(const Datum& datum) {
  const Tensor* tensor = datum.tensor();
  if (tensor == nullptr || tensor->dtype() != DType::kBool || tensor->num_elements() != 1) {
    return ModelError("expected one truth value as the condition, found ", datum.TypeText());
  }
  return tensor->elements<bool>()[0];
}

absl::Status If(KernelContext& context) {
  AMP_ASSIGN_OR_RETURN(const bool condition, Condition(context.InputDatum(0)));
  const GraphId body = context.Body(condition ? "then_branch" : "else_branch");
  if (body == kNone) return ModelError("expected two branches, found none for ", condition ? "true" : "false");
  AMP_ASSIGN_OR_RETURN(std::vector<Datum> outputs, context.bodies().Run(body, {}));
  if (outputs.size() != context.num_outputs()) {
    return ModelError("expected ", context.num_outputs(), " outputs of the branch, found ", outputs.size());
  }
  for (size_t i = 0; i < outputs.size(); ++i) context.SetOutput(i, std::move(outputs[i]));
  return absl::OkStatus();
}

// A loop's body, whose inputs are the iteration, the condition and the states, and whose outputs are the condition, the
// states and what is stacked up.
struct LoopBody {
  GraphId graph;
  size_t states = 0, scans = 0;
};

absl::StatusOr<LoopBody> FindLoopBody(const KernelContext& context) {
  LoopBody body{.graph = context.Body("body"), .states = std::max<size_t>(context.num_inputs(), 2) - 2};
  if (body.graph == kNone) return ModelError("expected a body, found none");
  const Graph& graph = context.model().graph(body.graph);
  if (graph.inputs.size() != body.states + 2) {
    return ModelError("expected ", body.states + 2, " inputs of the body, found ", graph.inputs.size());
  }
  const size_t least = 1 + std::max(body.states, context.num_outputs());
  if (graph.outputs.size() < least) {
    return ModelError("expected at least ", least, " outputs of the body, found ", graph.outputs.size());
  }
  body.scans = graph.outputs.size() - 1 - body.states;
  return body;
}

// A body may state that its iteration or condition has shape [1].
Datum ShapedFor(const KernelContext& context, const LoopBody& body, size_t port, const Tensor& scalar) {
  const std::optional<Dims> dims = StatedInputShape(context.model(), body.graph, port);
  return dims.has_value() && dims->size() == 1 ? scalar.Reshaped({1}) : scalar;
}

// A loop asks its body whether to go on even where it has a trip count and no condition to begin with. ONNX's text says
// that the body's answer is ignored there; ONNX Runtime and ONNX's own evaluator ask.
struct LoopPlan {
  int64_t trip_count = std::numeric_limits<int64_t>::max();
  bool begins = true;
};

absl::StatusOr<LoopPlan> PlanLoop(const KernelContext& context) {
  LoopPlan plan;
  if (context.HasInput(0)) {
    AMP_ASSIGN_OR_RETURN(plan.trip_count, context.InputInt(0));
  }
  if (context.HasInput(1)) {
    AMP_ASSIGN_OR_RETURN(plan.begins, Condition(context.InputDatum(1)));
  }
  return plan;
}

absl::Status CheckIteration(KernelContext& context, int64_t iteration) {
  const int64_t limit = context.resources().max_loop_iterations;
  return iteration < limit
             ? absl::OkStatus()
             : LimitError("expected at most ", limit, " iterations, found more (amp-run --max-loop-iterations)");
}

absl::Status Loop(KernelContext& context) {
  AMP_ASSIGN_OR_RETURN(const LoopBody body, FindLoopBody(context));
  AMP_ASSIGN_OR_RETURN(const LoopPlan plan, PlanLoop(context));
  std::vector<Datum> states;
  for (size_t i = 0; i < body.states; ++i) states.push_back(context.InputDatum(2 + i));
  std::vector<std::vector<Tensor>> scans(body.scans);
  bool goes_on = plan.begins;
  for (int64_t iteration = 0; iteration < plan.trip_count && goes_on; ++iteration) {
    AMP_RETURN_IF_ERROR(CheckIteration(context, iteration));
    std::vector<Datum> inputs = {ShapedFor(context, body, 0, Tensor::Scalar(iteration)),
                                 ShapedFor(context, body, 1, Tensor::Scalar(true))};
    std::move(states.begin(), states.end(), std::back_inserter(inputs));
    AMP_ASSIGN_OR_RETURN(std::vector<Datum> outputs, context.bodies().Run(body.graph, std::move(inputs)));
    AMP_ASSIGN_OR_RETURN(goes_on, Condition(outputs[0]));
    outputs.erase(outputs.begin());
    AMP_RETURN_IF_ERROR(TakeOutputs(std::move(outputs), absl::MakeSpan(states), absl::MakeSpan(scans)));
  }
  for (size_t i = 0; i < body.states; ++i) context.SetOutput(i, std::move(states[i]));
  for (size_t i = 0; i < body.scans; ++i) {
    AMP_ASSIGN_OR_RETURN(Tensor scan, Stack({context.model(), body.graph, 1 + body.states + i}, scans[i], 0));
    context.SetOutput(body.states + i, std::move(scan));
  }
  return absl::OkStatus();
}

// Returns the input from which element `i` of a SequenceMap is computed: the element of a sequence, else the tensor.
// REQUIRES: input 0 is a sequence.
absl::StatusOr<Datum> MappedInput(const KernelContext& context, size_t port, size_t i) {
  const Sequence* sequence = context.InputDatum(port).sequence();
  if (sequence == nullptr) return context.InputDatum(port);
  const size_t expected = context.InputDatum(0).sequence()->elements.size();
  if (sequence->elements.size() != expected) {
    return ModelError("input ", port, ": expected a sequence of ", expected, ", found ", sequence->elements.size());
  }
  return sequence->elements[i];
}

absl::Status SequenceMap(KernelContext& context) {
  const Sequence* sequence = context.InputDatum(0).sequence();
  if (sequence == nullptr) return ModelError("expected a sequence, found ", context.InputDatum(0).TypeText());
  const GraphId body = context.Body("body");
  if (body == kNone) return ModelError("expected a body, found none");
  if (context.bodies().NumInputs(body) != context.num_inputs() ||
      context.model().graph(body).outputs.size() != context.num_outputs()) {
    return ModelError("expected a body with ", context.num_inputs(), " inputs and ", context.num_outputs(),
                      " outputs, found ", context.bodies().NumInputs(body), " and ",
                      context.model().graph(body).outputs.size());
  }
  std::vector<Sequence> results(context.num_outputs());
  for (size_t i = 0; i < sequence->elements.size(); ++i) {
    std::vector<Datum> inputs;
    for (size_t port = 0; port < context.num_inputs(); ++port) {
      AMP_ASSIGN_OR_RETURN(inputs.emplace_back(), MappedInput(context, port, i));
    }
    AMP_ASSIGN_OR_RETURN(std::vector<Datum> outputs, context.bodies().Run(body, std::move(inputs)));
    for (size_t port = 0; port < outputs.size(); ++port) results[port].elements.push_back(std::move(outputs[port]));
  }
  for (size_t port = 0; port < results.size(); ++port) context.SetOutput(port, std::move(results[port]));
  return absl::OkStatus();
}

constexpr KernelRow kRows[] = {
    {.op_type = "If", .function = If, .host_inputs = {0}},
    {"Loop", Loop},
    {"SequenceMap", SequenceMap},
};

}  // namespace

absl::Span<const KernelRow> ControlFlowKernels() { return kRows; }

}  // namespace amp
