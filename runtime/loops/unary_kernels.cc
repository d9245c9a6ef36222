// Functions of one element: mathematics, activations, Clip, powers with a few exponents, tests, Dropout that drops
// nothing.
#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>

#include "absl/functional/function_ref.h"
#include "ir/base/status.h"
#include "runtime/forms/activation.h"
#include "runtime/forms/dropout.h"
#include "runtime/kernel/clip_bounds.h"
#include "runtime/loops/best_loops.h"
#include "runtime/loops/element_functions.h"
#include "runtime/loops/families.h"
#include "runtime/loops/float_parts.h"

namespace amp {
namespace {

Refusal WhyNotFloat(const KernelContext& context) {
  return IsLoopFloat(context.Input(0).dtype()) ? nullptr : kNoLoopFloat;
}

// ---- functions without inputs of their own --------------------------------------------------------------------------

constexpr ElementFunction kFunctions[] = {
    {"Abs", &UnaryLoops::abs},
    {"Acos", &UnaryLoops::acos},
    {"Acosh", &UnaryLoops::acosh},
    {"Asin", &UnaryLoops::asin},
    {"Asinh", &UnaryLoops::asinh},
    {"Atan", &UnaryLoops::atan},
    {"Atanh", &UnaryLoops::atanh},
    {"Ceil", &UnaryLoops::ceil},
    {"Celu", &UnaryLoops::celu},
    {"Cos", &UnaryLoops::cos},
    {"Cosh", &UnaryLoops::cosh},
    {"Elu", &UnaryLoops::elu},
    {"Erf", &UnaryLoops::erf},
    {"Exp", &UnaryLoops::exp},
    {"Floor", &UnaryLoops::floor},
    {"HardSigmoid", &UnaryLoops::hard_sigmoid},
    {"HardSwish", &UnaryLoops::hard_swish},
    {"LeakyRelu", &UnaryLoops::leaky_relu},
    {"Log", &UnaryLoops::log},
    {"Mish", &UnaryLoops::mish},
    {"Neg", &UnaryLoops::negate},
    {"Reciprocal", &UnaryLoops::reciprocal},
    {"Relu", &UnaryLoops::relu},
    {"Round", &UnaryLoops::round},
    {"Selu", &UnaryLoops::selu},
    {"Shrink", &UnaryLoops::shrink},
    {"Sigmoid", &UnaryLoops::sigmoid},
    {"Sign", &UnaryLoops::sign},
    {"Sin", &UnaryLoops::sin},
    {"Sinh", &UnaryLoops::sinh},
    {"Softplus", &UnaryLoops::softplus},
    {"Softsign", &UnaryLoops::softsign},
    {"Sqrt", &UnaryLoops::sqrt},
    {"Swish", &UnaryLoops::swish},
    {"Tan", &UnaryLoops::tan},
    {"Tanh", &UnaryLoops::tanh},
    {"ThresholdedRelu", &UnaryLoops::thresholded_relu},
    {"QuickGelu", &UnaryLoops::swish, "com.microsoft"},
};

template <size_t kIndex>
absl::Status Mapped(KernelContext& context) {
  constexpr const ElementFunction& kFunction = kFunctions[kIndex];
  return MapOutput(context, BestLoops().unary.*kFunction.loop, ParametersOf(context.node(), context.version()));
}

// ---- Gelu ---------------------------------------------------------------------------------------------------------

Refusal WhyNotGelu(const KernelContext& context) {
  return IsGeluByTanh(context.node()).ok() ? WhyNotFloat(context) : "an unknown approximation";
}

absl::Status Gelu(KernelContext& context) {
  AMP_ASSIGN_OR_RETURN(const bool by_tanh, IsGeluByTanh(context.node()));
  const UnaryLoops& unary = BestLoops().unary;
  return MapOutput(context, by_tanh ? unary.gelu_tanh : unary.gelu, {});
}

// ---- Clip ---------------------------------------------------------------------------------------------------------

Refusal WhyNotClip(const KernelContext& context) {
  for (const size_t port : {size_t{1}, size_t{2}}) {
    if (context.version() < 11 || !context.HasInput(port)) continue;
    const Tensor& bound = context.Input(port);
    if (bound.dtype() != context.Input(0).dtype() || bound.num_elements() != 1) return "bounds that do not fit";
  }
  return WhyNotFloat(context);
}

// `absent`: where the node states none.
absl::StatusOr<float> ReadBound(const KernelContext& context, size_t port, absl::string_view name, double absent) {
  const auto otherwise = static_cast<float>(absent);
  if (context.version() < 11) return GetFloat(context.node(), name, otherwise);
  if (!context.HasInput(port)) return otherwise;
  AMP_ASSIGN_OR_RETURN(const double bound, context.InputNumber(port));
  return static_cast<float>(bound);
}

absl::Status Clip(KernelContext& context) {
  const ClipBounds absent = AbsentClipBounds(context.Input(0).dtype(), context.version());
  UnaryParameters bounds;
  AMP_ASSIGN_OR_RETURN(bounds.a, ReadBound(context, 1, "min", absent.low));
  AMP_ASSIGN_OR_RETURN(bounds.b, ReadBound(context, 2, "max", absent.high));
  return MapOutput(context, BestLoops().unary.clip, bounds);
}

// ---- powers -------------------------------------------------------------------------------------------------------

struct Power {
  double exponent;
  UnaryLoop UnaryLoops::*loop;
};
constexpr Power kPowers[] = {
    {2, &UnaryLoops::square},       {3, &UnaryLoops::cube},
    {0.5, &UnaryLoops::power_half}, {-0.5, &UnaryLoops::power_minus_half},
    {-1, &UnaryLoops::reciprocal},
};

// Null where there is none: BinaryLoops::power takes any exponent.
UnaryLoop UnaryLoops::*LoopOfPower(const KernelContext& context) {
  if (context.Input(1).num_elements() != 1) return nullptr;
  const absl::StatusOr<double> exponent = context.InputNumber(1);
  return exponent.ok() ? FindPowerLoop(*exponent) : nullptr;
}

Refusal WhyNotPower(const KernelContext& context) {
  if (context.Input(1).rank() > context.Input(0).rank()) return "an exponent of a higher rank";
  if (LoopOfPower(context) == nullptr) return "another exponent than 2, 3, 1/2, -1/2 and -1";
  return WhyNotFloat(context);
}

absl::Status Pow(KernelContext& context) { return MapOutput(context, BestLoops().unary.*LoopOfPower(context), {}); }

// ---- Dropout ------------------------------------------------------------------------------------------------------

Refusal WhyNotDropout(const KernelContext& context) {
  if (context.HasOutput(1)) return "a mask";
  const absl::StatusOr<DropoutForm> form = ReadDropout(context);
  return !form.ok() || form->drops ? "training" : WhyNotFloat(context);
}

absl::Status Dropout(KernelContext& context) {
  context.SetOutput(0, context.Input(0));
  return absl::OkStatus();
}

// ---- tests of one element -----------------------------------------------------------------------------------------

using TestFunction = absl::FunctionRef<void(const float* x, uint8_t* y, size_t count)>;

// Output 0, bool, of input 0, wherever the elements lie.
absl::Status TestEach(KernelContext& context, TestFunction test) {
  const Loops& loops = BestLoops();
  context.Report(loops.name, DType::kBool);
  const Tensor& x = context.Input(0);
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, DType::kBool, x.dims()));
  y->set_layout(x.layout());
  const auto count = static_cast<size_t>(y->num_elements());
  if (count == 0) return absl::OkStatus();
  const FloatSource in(loops, x);
  uint8_t* const out = y->mutable_elements<uint8_t>().data();
  ForEachPartTogether(count, [&](size_t first, size_t size) {
    float buffer[kPartSize];
    test(in.Read(first, size, buffer), out + first, size);
  });
  return absl::OkStatus();
}

absl::Status IsNaN(KernelContext& context) {
  const CompareLoop& unequal = BestLoops().binary.unequal;
  return TestEach(context, [&](const float* x, uint8_t* y, size_t count) { unequal.of_both(x, x, y, count); });
}

absl::Status IsInf(KernelContext& context) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity(), kNegative = -kInfinity;
  const Loops& loops = BestLoops();
  const InfinitiesFound found = ReadInfinities(context.node());
  return TestEach(context, [&](const float* x, uint8_t* y, size_t count) {
    if (found.negative && found.positive) {
      float magnitudes[kPartSize];
      loops.unary.abs(x, magnitudes, count, {});
      loops.binary.equal.of_one_b(magnitudes, &kInfinity, y, count);
    } else if (found.negative || found.positive) {
      loops.binary.equal.of_one_b(x, found.negative ? &kNegative : &kInfinity, y, count);
    } else {
      std::fill_n(y, count, uint8_t{0});
    }
  });
}

// ---- rows ---------------------------------------------------------------------------------------------------------

constexpr KernelRow Row(absl::string_view op_type, KernelFunction function, RefusalFunction refusal = WhyNotFloat,
                        absl::string_view domain = "") {
  return {.op_type = op_type,
          .function = function,
          .domain = domain,
          .refusal = refusal,
          .family = "loops",
          .takes_channels_last = true};
}

template <size_t... kIndices>
constexpr auto MakeRows(std::index_sequence<kIndices...>) {
  return std::array{
      Row(kFunctions[kIndices].op_type, Mapped<kIndices>, WhyNotFloat, kFunctions[kIndices].domain)...,
      Row("Clip", Clip, WhyNotClip),
      KernelRow{.op_type = "Dropout",
                .function = Dropout,
                .refusal = WhyNotDropout,
                .family = "loops",
                .takes_channels_last = true,
                .host_inputs = {1, 2}},
      Row("Gelu", Gelu, WhyNotGelu),
      Row("IsInf", IsInf),
      Row("IsNaN", IsNaN),
      Row("Pow", Pow, WhyNotPower),
  };
}

constexpr auto kRows = MakeRows(std::make_index_sequence<std::size(kFunctions)>());

}  // namespace

UnaryParameters ParametersOf(const Node& node, int version) {
  const ActivationNumbers numbers = ReadActivation(node, version);
  return {.a = numbers.a, .b = numbers.b};
}

const ElementFunction* FindElementFunction(absl::string_view domain, absl::string_view op_type) {
  for (const ElementFunction& function : kFunctions) {
    if (function.op_type == op_type && function.domain == domain) return &function;
  }
  return nullptr;
}

UnaryLoop UnaryLoops::*FindPowerLoop(double exponent) {
  for (const Power& power : kPowers) {
    if (power.exponent == exponent) return power.loop;
  }
  return nullptr;
}

absl::Span<const KernelRow> UnaryLoopKernels() { return kRows; }

}  // namespace amp
