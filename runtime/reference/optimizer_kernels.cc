// One step of an optimizer for several tensors: inputs are the learning rate R, the number T of steps done, and then,
// each for all tensors in turn, their values, their gradients and what the optimizer remembers of them. Outputs are the
// new values and the new memories.
#include <cmath>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "runtime/kernel/shape_math.h"
#include "runtime/reference/families.h"
#include "runtime/reference/float_cells.h"

namespace amp {
namespace {

// Changes a number and what is remembered of it by its gradient.
using Update = absl::FunctionRef<void(double gradient, double& value, absl::Span<double> memories)>;

struct Step {
  double rate, count;  // R and T
};

absl::StatusOr<Step> ReadStep(const KernelContext& context) {
  AMP_ASSIGN_OR_RETURN(const double rate, context.InputNumber(0));
  AMP_ASSIGN_OR_RETURN(const int64_t count, context.InputInt(1));
  return Step{rate, static_cast<double>(count)};
}

// A tensor's value, gradient and memories, by input port.
absl::StatusOr<std::vector<std::vector<double>>> ReadState(const KernelContext& context,
                                                           absl::Span<const size_t> ports) {
  std::vector<std::vector<double>> state;
  for (const size_t port : ports) {
    const Tensor& tensor = context.Input(port);
    if (tensor.dims() != context.Input(ports[0]).dims()) {
      return ModelError("input ", port, ": expected shape ", DimsText(context.Input(ports[0]).dims()), ", found ",
                        tensor.TypeText());
    }
    AMP_ASSIGN_OR_RETURN(state.emplace_back(), ReadFloats(context, port));
  }
  return state;
}

absl::Status UpdateTensors(KernelContext& context, size_t num_memories, Update update) {
  const size_t kinds = 2 + num_memories, inputs = context.num_inputs() - 2, tensors = inputs / kinds;
  if (inputs % kinds != 0) return ModelError("expected ", kinds, " inputs for each tensor, found ", inputs, " in all");
  std::vector<double> memories(num_memories);
  for (size_t i = 0; i < tensors; ++i) {
    std::vector<size_t> ports;
    for (size_t kind = 0; kind < kinds; ++kind) ports.push_back(2 + kind * tensors + i);
    AMP_ASSIGN_OR_RETURN(std::vector<std::vector<double>> state, ReadState(context, ports));
    for (size_t at = 0; at < state[0].size(); ++at) {
      for (size_t m = 0; m < num_memories; ++m) memories[m] = state[2 + m][at];
      update(state[1][at], state[0][at], absl::MakeSpan(memories));
      for (size_t m = 0; m < num_memories; ++m) state[2 + m][at] = memories[m];
    }
    for (size_t kind = 0; kind < kinds; ++kind) {
      if (kind == 1) continue;  // the gradient
      const Tensor& like = context.Input(ports[kind]);
      const size_t port = (kind == 0 ? 0 : kind - 1) * tensors + i;
      AMP_RETURN_IF_ERROR(WriteOutput(context, port, like.dtype(), like.dims(), state[kind]));
    }
  }
  return absl::OkStatus();
}

absl::Status Adagrad(KernelContext& context) {
  AMP_ASSIGN_OR_RETURN(const Step step, ReadStep(context));
  const double decay = GetFloat(context.node(), "decay_factor", 0),
               norm = GetFloat(context.node(), "norm_coefficient", 0);
  const double epsilon = GetFloat(context.node(), "epsilon", 1e-6f);
  const double rate = step.rate / (1 + step.count * decay);
  return UpdateTensors(context, 1, [&](double gradient, double& value, absl::Span<double> squares) {
    gradient += norm * value;
    squares[0] += gradient * gradient;
    value -= rate * gradient / (std::sqrt(squares[0]) + epsilon);
  });
}

absl::Status Adam(KernelContext& context) {
  AMP_ASSIGN_OR_RETURN(const Step step, ReadStep(context));
  const double alpha = GetFloat(context.node(), "alpha", 0.9f), beta = GetFloat(context.node(), "beta", 0.999f);
  const double norm = GetFloat(context.node(), "norm_coefficient", 0);
  const double norm_post = GetFloat(context.node(), "norm_coefficient_post", 0);
  const double epsilon = GetFloat(context.node(), "epsilon", 1e-6f);
  const double correction = std::sqrt(1 - std::pow(beta, step.count)) / (1 - std::pow(alpha, step.count));
  const double rate = step.count > 0 ? step.rate * correction : step.rate;
  return UpdateTensors(context, 2, [&](double gradient, double& value, absl::Span<double> averages) {
    gradient += norm * value;
    averages[0] = alpha * averages[0] + (1 - alpha) * gradient;
    averages[1] = beta * averages[1] + (1 - beta) * gradient * gradient;
    value -= rate * averages[0] / (std::sqrt(averages[1]) + epsilon);
    value *= 1 - norm_post;
  });
}

absl::Status Momentum(KernelContext& context) {
  AMP_ASSIGN_OR_RETURN(const Step step, ReadStep(context));
  const std::string mode = GetString(context.node(), "mode", "");
  if (mode != "standard" && mode != "nesterov") {
    return ModelError("mode: expected standard or nesterov, found '", Escaped(mode), "'");
  }
  const double alpha = GetFloat(context.node(), "alpha", 0), norm = GetFloat(context.node(), "norm_coefficient", 0);
  const double beta = step.count > 0 ? GetFloat(context.node(), "beta", 0) : 1;
  return UpdateTensors(context, 1, [&](double gradient, double& value, absl::Span<double> momentum) {
    gradient += norm * value;
    momentum[0] = alpha * momentum[0] + beta * gradient;
    value -= step.rate * (mode == "nesterov" ? gradient + alpha * momentum[0] : momentum[0]);
  });
}

constexpr absl::string_view kDomain = "ai.onnx.preview.training";
constexpr KernelRow kRows[] = {
    {"Adagrad", Adagrad, kDomain},
    {"Adam", Adam, kDomain},
    {"Momentum", Momentum, kDomain},
};

}  // namespace

absl::Span<const KernelRow> OptimizerKernels() { return kRows; }

}  // namespace amp
