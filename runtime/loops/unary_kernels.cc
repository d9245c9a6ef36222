// Functions of one element: mathematics, activations, Clip, powers with a few exponents, Dropout that drops nothing.
#include <array>
#include <limits>
#include <string>

#include "ir/base/status.h"
#include "runtime/loops/best_loops.h"
#include "runtime/loops/families.h"
#include "runtime/loops/float_parts.h"

namespace amp {
namespace {

const char* WhyNotFloat(const KernelContext& context) {
  return IsLoopFloat(context.Input(0).dtype()) ? nullptr : kNoLoopFloat;
}

template <UnaryLoop UnaryLoops::*kLoop>
absl::Status Mapped(KernelContext& context) {
  return MapOutput(context, BestLoops().unary.*kLoop, {});
}

template <UnaryLoop UnaryLoops::*kLoop, UnaryParameters (*kParameters)(const KernelContext&)>
absl::Status Mapped(KernelContext& context) {
  return MapOutput(context, BestLoops().unary.*kLoop, kParameters(context));
}

// ---- activations' parameters --------------------------------------------------------------------------------------

// An attribute `alpha` that is this many hundredths by default.
template <int kHundredths>
UnaryParameters Alpha(const KernelContext& context) {
  return {.a = GetFloat(context.node(), "alpha", static_cast<float>(kHundredths) / 100)};
}

UnaryParameters HardSigmoidParameters(const KernelContext& context) {
  return {.a = GetFloat(context.node(), "alpha", 0.2f), .b = GetFloat(context.node(), "beta", 0.5f)};
}

// The constants of opset 1 had fewer digits.
UnaryParameters SeluParameters(const KernelContext& context) {
  const bool is_first = context.version() < 6;
  return {.a = GetFloat(context.node(), "alpha", is_first ? 1.6732f : 1.67326319217681884765625f),
          .b = GetFloat(context.node(), "gamma", is_first ? 1.0507f : 1.05070102214813232421875f)};
}

UnaryParameters ShrinkParameters(const KernelContext& context) {
  return {.a = GetFloat(context.node(), "bias", 0), .b = GetFloat(context.node(), "lambd", 0.5f)};
}

UnaryParameters QuickGeluParameters(const KernelContext& context) {
  return {.a = GetFloat(context.node(), "alpha", 1.702f)};
}

// ---- Gelu ---------------------------------------------------------------------------------------------------------

const char* WhyNotGelu(const KernelContext& context) {
  const std::string approximate = GetString(context.node(), "approximate", "none");
  if (approximate != "none" && approximate != "tanh") return "an unknown approximation";
  return WhyNotFloat(context);
}

absl::Status Gelu(KernelContext& context) {
  const bool by_tanh = GetString(context.node(), "approximate", "none") == "tanh";
  const UnaryLoops& unary = BestLoops().unary;
  return MapOutput(context, by_tanh ? unary.gelu_tanh : unary.gelu, {});
}

// ---- Clip ---------------------------------------------------------------------------------------------------------

const char* WhyNotClip(const KernelContext& context) {
  for (const size_t port : {size_t{1}, size_t{2}}) {
    if (context.version() < 11 || !context.HasInput(port)) continue;
    const Tensor& bound = context.Input(port);
    if (bound.dtype() != context.Input(0).dtype() || bound.num_elements() != 1) return "bounds that do not fit";
  }
  return WhyNotFloat(context);
}

absl::StatusOr<float> ReadBound(const KernelContext& context, size_t port, absl::string_view name, float at_opset_6,
                                float otherwise) {
  if (context.version() < 11) {
    return GetFloat(context.node(), name, context.version() == 6 ? at_opset_6 : otherwise);
  }
  if (!context.HasInput(port)) return otherwise;
  AMP_ASSIGN_OR_RETURN(const double bound, context.InputNumber(port));
  return static_cast<float>(bound);
}

absl::Status Clip(KernelContext& context) {
  using Limits = std::numeric_limits<float>;
  UnaryParameters bounds;
  AMP_ASSIGN_OR_RETURN(bounds.a, ReadBound(context, 1, "min", Limits::lowest(), -Limits::infinity()));
  AMP_ASSIGN_OR_RETURN(bounds.b, ReadBound(context, 2, "max", Limits::max(), Limits::infinity()));
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

const Power* FindPower(const KernelContext& context) {
  if (context.Input(1).num_elements() != 1) return nullptr;
  const absl::StatusOr<double> exponent = context.InputNumber(1);
  if (!exponent.ok()) return nullptr;
  for (const Power& power : kPowers) {
    if (power.exponent == *exponent) return &power;
  }
  return nullptr;
}

const char* WhyNotPower(const KernelContext& context) {
  if (context.Input(1).rank() > context.Input(0).rank()) return "an exponent of a higher rank";
  if (FindPower(context) == nullptr) return "another exponent than 2, 3, 1/2, -1/2 and -1";
  return WhyNotFloat(context);
}

absl::Status Pow(KernelContext& context) { return MapOutput(context, BestLoops().unary.*FindPower(context)->loop, {}); }

// ---- Dropout ------------------------------------------------------------------------------------------------------

const char* WhyNotDropout(const KernelContext& context) {
  if (context.HasOutput(1)) return "a mask";
  if (context.version() < 7) return GetInt(context.node(), "is_test", 0) == 0 ? "training" : WhyNotFloat(context);
  const Tensor& training = context.Input(2);
  const bool trains = training.dtype() != DType::kBool || training.num_elements() != 1 || training.elements<bool>()[0];
  return context.HasInput(2) && trains ? "training" : WhyNotFloat(context);
}

absl::Status Dropout(KernelContext& context) {
  context.SetOutput(0, context.Input(0));
  return absl::OkStatus();
}

// ---- rows ---------------------------------------------------------------------------------------------------------

constexpr KernelRow Row(absl::string_view op_type, KernelFunction function,
                        const char* (*why_not)(const KernelContext&) = WhyNotFloat) {
  return {.op_type = op_type, .function = function, .why_not = why_not, .family = "loops", .takes_channels_last = true};
}

constexpr KernelRow kRows[] = {
    Row("Abs", Mapped<&UnaryLoops::abs>),
    Row("Ceil", Mapped<&UnaryLoops::ceil>),
    Row("Celu", Mapped<&UnaryLoops::celu, Alpha<100>>),
    Row("Clip", Clip, WhyNotClip),
    Row("Dropout", Dropout, WhyNotDropout),
    Row("Elu", Mapped<&UnaryLoops::elu, Alpha<100>>),
    Row("Erf", Mapped<&UnaryLoops::erf>),
    Row("Exp", Mapped<&UnaryLoops::exp>),
    Row("Floor", Mapped<&UnaryLoops::floor>),
    Row("Gelu", Gelu, WhyNotGelu),
    Row("HardSigmoid", Mapped<&UnaryLoops::hard_sigmoid, HardSigmoidParameters>),
    Row("HardSwish", Mapped<&UnaryLoops::hard_swish>),
    Row("LeakyRelu", Mapped<&UnaryLoops::leaky_relu, Alpha<1>>),
    Row("Log", Mapped<&UnaryLoops::log>),
    Row("Mish", Mapped<&UnaryLoops::mish>),
    Row("Neg", Mapped<&UnaryLoops::negate>),
    Row("Pow", Pow, WhyNotPower),
    Row("Reciprocal", Mapped<&UnaryLoops::reciprocal>),
    Row("Relu", Mapped<&UnaryLoops::relu>),
    Row("Round", Mapped<&UnaryLoops::round>),
    Row("Selu", Mapped<&UnaryLoops::selu, SeluParameters>),
    Row("Shrink", Mapped<&UnaryLoops::shrink, ShrinkParameters>),
    Row("Sigmoid", Mapped<&UnaryLoops::sigmoid>),
    Row("Sign", Mapped<&UnaryLoops::sign>),
    Row("Softplus", Mapped<&UnaryLoops::softplus>),
    Row("Softsign", Mapped<&UnaryLoops::softsign>),
    Row("Sqrt", Mapped<&UnaryLoops::sqrt>),
    Row("Swish", Mapped<&UnaryLoops::swish, Alpha<100>>),
    Row("Tanh", Mapped<&UnaryLoops::tanh>),
    Row("ThresholdedRelu", Mapped<&UnaryLoops::thresholded_relu, Alpha<100>>),
    {.op_type = "QuickGelu",
     .function = Mapped<&UnaryLoops::swish, QuickGeluParameters>,
     .domain = "com.microsoft",
     .why_not = WhyNotFloat,
     .family = "loops",
     .takes_channels_last = true},
};

}  // namespace

absl::Span<const KernelRow> UnaryLoopKernels() { return kRows; }

}  // namespace amp
