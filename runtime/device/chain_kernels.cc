#include "runtime/device/chain_kernels.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <vector>

#include "ir/base/status.h"
#include "runtime/device/chain_program.h"
#include "runtime/device/families.h"
#include "runtime/device/storage.h"
#include "runtime/kernel/layout.h"
#include "runtime/kernel/shape_math.h"
#include "runtime/loops/chain.h"

namespace amp {
namespace {

using device::BinaryFunction;
using device::Comparison;
using device::UnaryFunction;

// ---- the processor's loops as functions of the device ---------------------------------------------------------------

struct MapLoop {
  UnaryLoop UnaryLoops::*loop;
  UnaryFunction function;
};
constexpr MapLoop kMaps[] = {
    {&UnaryLoops::abs, UnaryFunction::kAbs},
    {&UnaryLoops::acos, UnaryFunction::kAcos},
    {&UnaryLoops::acosh, UnaryFunction::kAcosh},
    {&UnaryLoops::asin, UnaryFunction::kAsin},
    {&UnaryLoops::asinh, UnaryFunction::kAsinh},
    {&UnaryLoops::atan, UnaryFunction::kAtan},
    {&UnaryLoops::atanh, UnaryFunction::kAtanh},
    {&UnaryLoops::ceil, UnaryFunction::kCeil},
    {&UnaryLoops::celu, UnaryFunction::kCelu},
    {&UnaryLoops::clip, UnaryFunction::kClip},
    {&UnaryLoops::cos, UnaryFunction::kCos},
    {&UnaryLoops::cosh, UnaryFunction::kCosh},
    {&UnaryLoops::cube, UnaryFunction::kCube},
    {&UnaryLoops::elu, UnaryFunction::kElu},
    {&UnaryLoops::erf, UnaryFunction::kErf},
    {&UnaryLoops::exp, UnaryFunction::kExp},
    {&UnaryLoops::floor, UnaryFunction::kFloor},
    {&UnaryLoops::gelu, UnaryFunction::kGelu},
    {&UnaryLoops::gelu_tanh, UnaryFunction::kGeluTanh},
    {&UnaryLoops::hard_sigmoid, UnaryFunction::kHardSigmoid},
    {&UnaryLoops::hard_swish, UnaryFunction::kHardSwish},
    {&UnaryLoops::leaky_relu, UnaryFunction::kLeakyRelu},
    {&UnaryLoops::log, UnaryFunction::kLog},
    {&UnaryLoops::mish, UnaryFunction::kMish},
    {&UnaryLoops::negate, UnaryFunction::kNegate},
    {&UnaryLoops::power_half, UnaryFunction::kSqrt},
    {&UnaryLoops::power_minus_half, UnaryFunction::kReciprocalRoot},
    {&UnaryLoops::reciprocal, UnaryFunction::kReciprocal},
    {&UnaryLoops::relu, UnaryFunction::kRelu},
    {&UnaryLoops::round, UnaryFunction::kRound},
    {&UnaryLoops::selu, UnaryFunction::kSelu},
    {&UnaryLoops::shrink, UnaryFunction::kShrink},
    {&UnaryLoops::sigmoid, UnaryFunction::kSigmoid},
    {&UnaryLoops::sign, UnaryFunction::kSign},
    {&UnaryLoops::sin, UnaryFunction::kSin},
    {&UnaryLoops::sinh, UnaryFunction::kSinh},
    {&UnaryLoops::softplus, UnaryFunction::kSoftplus},
    {&UnaryLoops::softsign, UnaryFunction::kSoftsign},
    {&UnaryLoops::sqrt, UnaryFunction::kSqrt},
    {&UnaryLoops::square, UnaryFunction::kSquare},
    {&UnaryLoops::swish, UnaryFunction::kSwish},
    {&UnaryLoops::tan, UnaryFunction::kTan},
    {&UnaryLoops::tanh, UnaryFunction::kTanh},
    {&UnaryLoops::thresholded_relu, UnaryFunction::kThresholdedRelu},
};

struct ZipLoop {
  BinaryLoop BinaryLoops::*loop;
  BinaryFunction function;
};
constexpr ZipLoop kZips[] = {
    {&BinaryLoops::add, BinaryFunction::kAdd},           {&BinaryLoops::subtract, BinaryFunction::kSubtract},
    {&BinaryLoops::multiply, BinaryFunction::kMultiply}, {&BinaryLoops::divide, BinaryFunction::kDivide},
    {&BinaryLoops::max, BinaryFunction::kMax},           {&BinaryLoops::min, BinaryFunction::kMin},
    {&BinaryLoops::power, BinaryFunction::kPower},       {&BinaryLoops::prelu, BinaryFunction::kPRelu},
};

struct CompareLoops {
  CompareLoop BinaryLoops::*loop;
  Comparison function;
};
constexpr CompareLoops kComparisons[] = {
    {&BinaryLoops::equal, Comparison::kEqual},
    {&BinaryLoops::greater, Comparison::kGreater},
    {&BinaryLoops::greater_or_equal, Comparison::kGreaterOrEqual},
    {&BinaryLoops::less, Comparison::kLess},
    {&BinaryLoops::less_or_equal, Comparison::kLessOrEqual},
};

// Returns nothing if the device lacks the function.
template <typename Row, size_t kCount, typename Loop>
auto FunctionOf(const Row (&rows)[kCount], Loop loop) -> std::optional<decltype(rows[0].function)> {
  const auto row = std::find_if(std::begin(rows), std::end(rows), [&](const Row& each) { return each.loop == loop; });
  return row == std::end(rows) ? std::nullopt : std::optional(row->function);
}

// ---- chains ---------------------------------------------------------------------------------------------------------

// Operands in one layout, with their dims in the order in which they lie in memory.
struct LaidOut {
  Layout layout = Layout::kRowMajor;
  std::vector<Tensor> operands;
};

// Returns the operand as it broadcasts to channels-last images of rank `rank`; nothing if it would have to be
// transposed.
std::optional<Tensor> BesideChannelsLast(const Tensor& operand, size_t rank) {
  if (operand.layout() == Layout::kChannelsLast)
    return operand.rank() == rank ? std::optional(AsInMemory(operand)) : std::nullopt;
  if (operand.rank() > rank) return std::nullopt;
  Dims dims(rank - operand.rank(), 1);
  dims.insert(dims.end(), operand.dims().begin(), operand.dims().end());
  const bool is_same_in_both = dims[1] == 1 || ElementsBetween(dims, 2, rank) == 1;
  return is_same_in_both ? std::optional(operand.Reshaped(DimsInMemory(dims, Layout::kChannelsLast))) : std::nullopt;
}

// Uses channels-last if one operand has that layout and none has to be transposed for it.
absl::StatusOr<LaidOut> LayOut(const KernelContext& context) {
  LaidOut made;
  const size_t count = context.num_inputs();
  for (size_t i = 0; i < count && made.layout == Layout::kRowMajor; ++i) {
    if (context.Input(i).layout() == Layout::kRowMajor) continue;
    made.layout = Layout::kChannelsLast;
    for (size_t k = 0; k < count && made.operands.size() == k; ++k) {
      std::optional<Tensor> operand = BesideChannelsLast(context.Input(k), context.Input(i).rank());
      if (operand.has_value()) made.operands.push_back(*std::move(operand));
    }
  }
  if (made.layout == Layout::kChannelsLast && made.operands.size() == count) return made;
  made = {};
  for (size_t i = 0; i < count; ++i) {
    AMP_ASSIGN_OR_RETURN(made.operands.emplace_back(), InLayout(context.Input(i), Layout::kRowMajor, context.memory()));
  }
  return made;
}

class ChainTranslation {
 public:
  ChainTranslation(const LaidOut& laid_out, const Chain& chain)
      : laid_out_(laid_out), chain_(chain), values_(chain.inputs.size() + chain.steps.size()) {}

  absl::StatusOr<ChainProgram> Translate() {
    for (size_t i = 0; i < chain_.steps.size(); ++i) {
      AMP_ASSIGN_OR_RETURN(values_[chain_.inputs.size() + i], AddStep(chain_.steps[i]));
    }
    return std::move(program_);
  }

 private:
  // Loads an operand when it is first read, so that it takes no slot before.
  size_t ValueOf(size_t operand) {
    std::optional<size_t>& value = values_[operand];
    if (!value.has_value()) value = program_.AddOperand(laid_out_.operands[operand]);
    return *value;
  }

  absl::StatusOr<size_t> AddStep(const ChainStep& step) {
    absl::Status unknown = Refusal("a step that the device does not have");
    switch (step.kind) {
      case ChainStep::Kind::kMap: {
        const auto function = FunctionOf(kMaps, step.map);
        if (!function.has_value()) return unknown;
        const DeviceFunction map = {*function, step.parameters.a, step.parameters.b};
        return program_.AddMap(map, ValueOf(step.operands[0]), step.dtype);
      }
      case ChainStep::Kind::kSlope:
      case ChainStep::Kind::kZip: {
        const auto function = FunctionOf(kZips, step.zip);
        if (!function.has_value()) return unknown;
        const size_t a = ValueOf(step.operands[0]), b = ValueOf(step.operands[1]);
        return program_.AddZip(*function, a, b, step.dtype);
      }
      case ChainStep::Kind::kCompare: {
        const auto function = FunctionOf(kComparisons, step.compare);
        if (!function.has_value()) return unknown;
        const size_t a = ValueOf(step.operands[0]), b = ValueOf(step.operands[1]);
        return program_.AddCompare(*function, a, b);
      }
      case ChainStep::Kind::kChoose: {
        const size_t condition = ValueOf(step.operands[0]), a = ValueOf(step.operands[1]);
        return program_.AddChoice(condition, a, ValueOf(step.operands[2]), step.dtype);
      }
      case ChainStep::Kind::kCast:
        return program_.AddRounding(ValueOf(step.operands[0]), step.dtype);
    }
    return unknown;
  }

  const LaidOut& laid_out_;
  const Chain& chain_;
  std::vector<std::optional<size_t>> values_;  // of inputs, then of steps
  ChainProgram program_;
};

// Whether a slope has a larger shape than its x. A slope must broadcast to x, not x to the slope.
bool HasLargeSlope(const LaidOut& laid_out, const Chain& chain, const Dims& result) {
  return std::any_of(chain.steps.begin(), chain.steps.end(), [&](const ChainStep& step) {
    const size_t x = step.operands[0];
    return step.kind == ChainStep::Kind::kSlope && x < chain.inputs.size() && laid_out.operands[x].dims() != result;
  });
}

absl::Status RunChain(KernelContext& context) {
  const Chain& chain = context.State<Chain>();
  AMP_ASSIGN_OR_RETURN(const LaidOut laid_out, LayOut(context));
  ChainTranslation translation(laid_out, chain);
  AMP_ASSIGN_OR_RETURN(const ChainProgram program, translation.Translate());
  AMP_ASSIGN_OR_RETURN(const Dims dims, program.ResultDims());
  if (HasLargeSlope(laid_out, chain, dims)) return Refusal("a slope that does not fit");
  AMP_RETURN_IF_ERROR(program.Arguments(dims).status());
  context.Report("chain", DType::kFloat32);
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, chain.steps.back().dtype, dims));
  absl::Status status = program.Start(*context.resources().device, *y);
  if (laid_out.layout == Layout::kChannelsLast) *y = FromMemory(*y, laid_out.layout);
  return status;
}

constexpr KernelRow kChainRow = [] {
  KernelRow row = DeviceRow("Chain", RunChain, nullptr);
  row.takes_channels_last = true;
  return row;
}();

// ---- operators with any number of operands --------------------------------------------------------------------------

Refusal WhyNotFold(const KernelContext& context) {
  const DType dtype = context.Input(0).dtype();
  if (!IsDeviceFloat(dtype)) return kNoDeviceFloat;
  if (context.num_inputs() > device::kMostChainOperands) return "too many operands";
  for (size_t i = 1; i < context.num_inputs(); ++i) {
    if (context.Input(i).dtype() != dtype) return "operands of different types";
    if (context.version() < 8 && context.Input(i).dims() != context.Input(0).dims()) return "operands that differ";
  }
  return {};
}

enum class Sense { kWhole, kMean };

// Computes all steps in float32; the result is rounded once, at the end.
template <BinaryFunction kFunction, Sense kSense = Sense::kWhole>
absl::Status Fold(KernelContext& context) {
  const DType dtype = context.Input(0).dtype();
  ChainProgram program;
  size_t value = program.AddOperand(context.Input(0));
  for (size_t i = 1; i < context.num_inputs(); ++i) {
    value = program.AddZip(kFunction, value, program.AddOperand(context.Input(i)), DType::kFloat32);
  }
  if (kSense == Sense::kMean) {
    const float share = 1 / static_cast<float>(context.num_inputs());
    program.AddMap({.function = UnaryFunction::kLinear, .a = share}, value, DType::kFloat32);
  }
  AMP_ASSIGN_OR_RETURN(const Dims dims, program.ResultDims());
  AMP_RETURN_IF_ERROR(program.Arguments(dims).status());
  context.Report("chain", DType::kFloat32);
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, dtype, dims));
  return program.Start(*context.resources().device, *y);
}

constexpr KernelRow kRows[] = {
    DeviceRow("Max", Fold<BinaryFunction::kMax>, WhyNotFold),
    DeviceRow("Min", Fold<BinaryFunction::kMin>, WhyNotFold),
    DeviceRow("Sum", Fold<BinaryFunction::kAdd>, WhyNotFold),
    DeviceRow("Mean", Fold<BinaryFunction::kAdd, Sense::kMean>, WhyNotFold),
};

}  // namespace

const KernelRow& DeviceChainRow() { return kChainRow; }

absl::Span<const KernelRow> FoldDeviceKernels() { return kRows; }

}  // namespace amp
