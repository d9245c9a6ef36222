// Functions of one element on a device: mathematics, activations, Clip, Cast.
#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

#include "ir/base/status.h"
#include "runtime/device/families.h"
#include "runtime/device/raw/elementwise.h"
#include "runtime/device/storage.h"
#include "runtime/forms/activation.h"
#include "runtime/kernel/clip_bounds.h"
#include "runtime/loops/element_functions.h"

namespace amp {
namespace {

using device::UnaryFunction;

Refusal WhyNotFloat(const KernelContext& context) {
  return IsDeviceFloat(context.Input(0).dtype()) ? nullptr : kNoDeviceFloat;
}

absl::Status MapInput(KernelContext& context, UnaryFunction function, UnaryParameters parameters) {
  context.Report("map", DType::kFloat32);
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutputLike(0, 0));
  const Tensor& x = context.Input(0);
  if (x.num_elements() == 0) return absl::OkStatus();
  context.resources().device->Start(device::MapArguments{.x = x.data(),
                                                         .y = y->mutable_data(),
                                                         .count = CountOf(x),
                                                         .storage = StorageOf(x.dtype()),
                                                         .function = function,
                                                         .a = parameters.a,
                                                         .b = parameters.b});
  return absl::OkStatus();
}

// ---- functions with parameters from attributes ----------------------------------------------------------------------

struct NamedFunction {
  absl::string_view op_type;
  UnaryFunction function;
  absl::string_view domain = "";
};
constexpr NamedFunction kFunctions[] = {
    {"Abs", UnaryFunction::kAbs},
    {"Acos", UnaryFunction::kAcos},
    {"Acosh", UnaryFunction::kAcosh},
    {"Asin", UnaryFunction::kAsin},
    {"Asinh", UnaryFunction::kAsinh},
    {"Atan", UnaryFunction::kAtan},
    {"Atanh", UnaryFunction::kAtanh},
    {"Ceil", UnaryFunction::kCeil},
    {"Celu", UnaryFunction::kCelu},
    {"Cos", UnaryFunction::kCos},
    {"Cosh", UnaryFunction::kCosh},
    {"Elu", UnaryFunction::kElu},
    {"Erf", UnaryFunction::kErf},
    {"Exp", UnaryFunction::kExp},
    {"Floor", UnaryFunction::kFloor},
    {"HardSigmoid", UnaryFunction::kHardSigmoid},
    {"HardSwish", UnaryFunction::kHardSwish},
    {"LeakyRelu", UnaryFunction::kLeakyRelu},
    {"Log", UnaryFunction::kLog},
    {"Mish", UnaryFunction::kMish},
    {"Neg", UnaryFunction::kNegate},
    {"Reciprocal", UnaryFunction::kReciprocal},
    {"Relu", UnaryFunction::kRelu},
    {"Round", UnaryFunction::kRound},
    {"Selu", UnaryFunction::kSelu},
    {"Shrink", UnaryFunction::kShrink},
    {"Sigmoid", UnaryFunction::kSigmoid},
    {"Sign", UnaryFunction::kSign},
    {"Sin", UnaryFunction::kSin},
    {"Sinh", UnaryFunction::kSinh},
    {"Softplus", UnaryFunction::kSoftplus},
    {"Softsign", UnaryFunction::kSoftsign},
    {"Sqrt", UnaryFunction::kSqrt},
    {"Swish", UnaryFunction::kSwish},
    {"Tan", UnaryFunction::kTan},
    {"Tanh", UnaryFunction::kTanh},
    {"ThresholdedRelu", UnaryFunction::kThresholdedRelu},
    {"QuickGelu", UnaryFunction::kSwish, "com.microsoft"},
};

// The parameters are those of the processor's loops.
template <size_t kIndex>
absl::Status Mapped(KernelContext& context) {
  constexpr const NamedFunction& kNamed = kFunctions[kIndex];
  const ElementFunction* const as_loop = FindElementFunction(kNamed.domain, kNamed.op_type);
  const UnaryParameters parameters =
      as_loop == nullptr ? UnaryParameters() : ParametersOf(context.node(), context.version());
  return MapInput(context, kNamed.function, parameters);
}

// ---- Gelu -----------------------------------------------------------------------------------------------------------

Refusal WhyNotGelu(const KernelContext& context) {
  return IsGeluByTanh(context.node()).ok() ? WhyNotFloat(context) : "an unknown approximation";
}

absl::Status Gelu(KernelContext& context) {
  AMP_ASSIGN_OR_RETURN(const bool by_tanh, IsGeluByTanh(context.node()));
  return MapInput(context, by_tanh ? UnaryFunction::kGeluTanh : UnaryFunction::kGelu, {});
}

// ---- Clip -----------------------------------------------------------------------------------------------------------

constexpr int kBoundsAreInputs = 11;

Refusal WhyNotClip(const KernelContext& context) {
  for (const size_t port : {size_t{1}, size_t{2}}) {
    if (context.version() < kBoundsAreInputs || !context.HasInput(port)) continue;
    const Tensor& bound = context.Input(port);
    if (bound.dtype() != context.Input(0).dtype() || bound.num_elements() != 1) return "bounds that do not fit";
  }
  return WhyNotFloat(context);
}

// `absent`: the bound if the node states none.
absl::StatusOr<float> ReadBound(const KernelContext& context, size_t port, absl::string_view name, double absent) {
  const auto otherwise = static_cast<float>(absent);
  if (context.version() < kBoundsAreInputs) return GetFloat(context.node(), name, otherwise);
  if (!context.HasInput(port)) return otherwise;
  AMP_ASSIGN_OR_RETURN(const double bound, context.InputNumber(port));
  return static_cast<float>(bound);
}

absl::Status Clip(KernelContext& context) {
  const ClipBounds absent = AbsentClipBounds(context.Input(0).dtype(), context.version());
  UnaryParameters bounds;
  AMP_ASSIGN_OR_RETURN(bounds.a, ReadBound(context, 1, "min", absent.low));
  AMP_ASSIGN_OR_RETURN(bounds.b, ReadBound(context, 2, "max", absent.high));
  return MapInput(context, UnaryFunction::kClip, bounds);
}

// ---- Cast -----------------------------------------------------------------------------------------------------------

std::optional<DType> TargetType(const KernelContext& context) {
  if (context.node().op_type() == "CastLike") return context.Input(1).dtype();
  if (context.version() < 6) return std::nullopt;
  return GetDType(context.node(), "to");
}

// Integers are converted to floats through float32. Large ones would be rounded twice on their way to bfloat16; for
// float16 they become infinite either way.
Refusal WhyNotCast(const KernelContext& context) {
  const device::Storage from = StorageOf(context.Input(0).dtype());
  const std::optional<DType> type = TargetType(context);
  if (!type.has_value()) return "no type in the way of opset 6";
  if (HasAttribute(context.node(), "round_mode")) return "a way of rounding";
  const device::Storage to = StorageOf(*type);
  if (from == device::Storage::kOther || to == device::Storage::kOther) return "types that are not converted there";
  const bool is_large_integer = from == device::Storage::kInt32 || from == device::Storage::kInt64;
  if (is_large_integer && to == device::Storage::kBfloat16) return "an integer that would be rounded twice";
  return {};
}

absl::Status Cast(KernelContext& context) {
  const Tensor& x = context.Input(0);
  const DType to = *TargetType(context);
  context.Report("convert", to);
  if (x.dtype() == to) {
    context.SetOutput(0, x);
    return absl::OkStatus();
  }
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, to, x.dims()));
  if (x.num_elements() == 0) return absl::OkStatus();
  context.resources().device->Start(device::ConvertArguments{
      .x = x.data(), .y = y->mutable_data(), .count = CountOf(x), .from = StorageOf(x.dtype()), .to = StorageOf(to)});
  return absl::OkStatus();
}

Refusal WhyNotNot(const KernelContext& context) {
  return context.Input(0).dtype() == DType::kBool ? nullptr : "another type than bool";
}

absl::Status Not(KernelContext& context) {
  const Tensor& x = context.Input(0);
  context.Report("compare", DType::kBool);
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, DType::kBool, x.dims()));
  if (x.num_elements() == 0) return absl::OkStatus();
  context.resources().device->Start(device::CompareArguments{.operands = {.a = x.data(),
                                                                          .b = x.data(),
                                                                          .y = y->mutable_data(),
                                                                          .count = CountOf(x),
                                                                          .storage = StorageOf(x.dtype()),
                                                                          .shape = {},
                                                                          .is_flat = true},
                                                             .comparison = device::Comparison::kHolds,
                                                             .is_negated = true});
  return absl::OkStatus();
}

template <size_t... kIndices>
constexpr auto MakeRows(std::index_sequence<kIndices...>) {
  return std::array{
      DeviceRow(kFunctions[kIndices].op_type, Mapped<kIndices>, WhyNotFloat, {}, kFunctions[kIndices].domain)...,
      DeviceRow("Cast", Cast, WhyNotCast),
      DeviceRow("CastLike", Cast, WhyNotCast),
      DeviceRow("Clip", Clip, WhyNotClip, {1, 2}),
      DeviceRow("Gelu", Gelu, WhyNotGelu),
      DeviceRow("Not", Not, WhyNotNot),
  };
}

constexpr auto kRows = MakeRows(std::make_index_sequence<std::size(kFunctions)>());

}  // namespace

absl::Span<const KernelRow> UnaryDeviceKernels() { return kRows; }

}  // namespace amp
