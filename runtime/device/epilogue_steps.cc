#include "runtime/device/epilogue_steps.h"

namespace amp {
namespace {

using device::BinaryFunction;
using device::ResultStep;
using device::UnaryFunction;

BinaryFunction CombinationOf(const EpilogueStep& step) {
  return step.kind == EpilogueKind::kAdd ? BinaryFunction::kAdd : BinaryFunction::kMultiply;
}

// Returns whether the operand has one number, one per channel, or one per element of y; nothing for other operands.
std::optional<ResultStep::Operand> OperandOf(const Tensor& operand, const Dims& y) {
  if (operand.dims() == y) return ResultStep::Operand::kWhole;
  if (operand.rank() > y.size()) return std::nullopt;
  if (operand.num_elements() == 1) return ResultStep::Operand::kOne;
  Dims dims(y.size() - operand.rank(), 1);
  dims.insert(dims.end(), operand.dims().begin(), operand.dims().end());
  const bool is_along_channels = operand.num_elements() == y[1] && dims[1] == y[1];
  return is_along_channels ? std::optional(ResultStep::Operand::kChannels) : std::nullopt;
}

}  // namespace

std::optional<DeviceFunction> FunctionOf(const EpilogueStep& step) {
  const auto with = [&](UnaryFunction function) { return DeviceFunction{function, step.alpha, step.beta}; };
  switch (step.kind) {
    case EpilogueKind::kRelu:
      return with(step.alpha == 0 ? UnaryFunction::kRelu : UnaryFunction::kLeakyRelu);
    case EpilogueKind::kClip:
      return with(UnaryFunction::kClip);
    case EpilogueKind::kSigmoid:
      return with(UnaryFunction::kSigmoid);
    case EpilogueKind::kTanh:
      return with(UnaryFunction::kTanh);
    case EpilogueKind::kGeluErf:
      return with(UnaryFunction::kGelu);
    case EpilogueKind::kGeluTanh:
      return with(UnaryFunction::kGeluTanh);
    case EpilogueKind::kSwish:
      return with(UnaryFunction::kSwish);
    case EpilogueKind::kHardSwish:
      return with(UnaryFunction::kHardSwish);
    case EpilogueKind::kHardSigmoid:
      return with(UnaryFunction::kHardSigmoid);
    case EpilogueKind::kElu:
      return with(UnaryFunction::kElu);
    case EpilogueKind::kLinear:
      return with(UnaryFunction::kLinear);
    case EpilogueKind::kAdd:
    case EpilogueKind::kMul:
      break;
  }
  return std::nullopt;
}

size_t AddSteps(const KernelContext& context, absl::Span<const EpilogueStep> steps, size_t value,
                ChainProgram& program) {
  for (const EpilogueStep& step : steps) {
    if (const std::optional<DeviceFunction> function = FunctionOf(step)) {
      value = program.AddMap(*function, value, DType::kFloat32);
    } else {
      value =
          program.AddZip(CombinationOf(step), value, program.AddOperand(context.Input(step.input)), DType::kFloat32);
    }
  }
  return value;
}

std::optional<ResultStep> ResultStepOf(const KernelContext& context, const EpilogueStep& step, const Dims& y) {
  if (const std::optional<DeviceFunction> function = FunctionOf(step)) {
    return ResultStep{.function = function->function, .a = function->a, .b = function->b};
  }
  const Tensor& operand = context.Input(step.input);
  const std::optional<ResultStep::Operand> kind = OperandOf(operand, y);
  if (!kind.has_value() || operand.dtype() != context.Input(0).dtype()) return std::nullopt;
  return ResultStep{.operand = *kind, .combine = CombinationOf(step), .elements = operand.data()};
}

}  // namespace amp
