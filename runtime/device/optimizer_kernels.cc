// The functions of domain ai.amp for optimizers and loss scales on a device. The processor reads none of their values,
// so that a skipped step runs like any other.
//
//   weight, rms = ai.amp.ConditionalRmsprop (apply, weight, gradient, rms, rate)       one pass over the elements
//   several such nodes with one rate and truth value                                   one launch for all
//
// If `apply` is false, the next state is a copy of the present one.
#include <vector>

#include "ir/base/status.h"
#include "runtime/device/families.h"
#include "runtime/device/fused_optimizers.h"
#include "runtime/device/raw/elementwise.h"
#include "runtime/device/raw/optimizer.h"
#include "runtime/device/storage.h"
#include "runtime/forms/optimizer.h"
#include "runtime/kernel/shape_math.h"

namespace amp {
namespace {

constexpr absl::string_view kDomain = "ai.amp";

const float* Floats(const Tensor& tensor) { return static_cast<const float*>(tensor.data()); }

bool IsNumber(const Tensor& tensor, DType dtype) { return tensor.dtype() == dtype && tensor.num_elements() == 1; }

// ---- optimizers -----------------------------------------------------------------------------------------------------

struct Optimizer {
  device::Optimizer rule;
  const OptimizerForm& form;
};
constexpr Optimizer kSgd = {device::Optimizer::kSgd, kSgdForm};
constexpr Optimizer kMomentum = {device::Optimizer::kMomentum, kMomentumForm};
constexpr Optimizer kNesterov = {device::Optimizer::kNesterov, kMomentumForm};
constexpr Optimizer kRmsprop = {device::Optimizer::kRmsprop, kRmspropForm};
constexpr Optimizer kAdam = {device::Optimizer::kAdam, kAdamForm};
constexpr Optimizer kAdamW = {device::Optimizer::kAdam, kAdamWForm};

// Inputs: `apply` (if conditional), weight, gradient, slots, rate, learning rate (if weights decay).
enum class When { kAlways, kIfApplied };

// The ports of one node's operands and results. In a fused pattern, those of its nodes follow one another.
template <const Optimizer& kOptimizer, When kWhen>
struct Ports {
  static constexpr size_t kFirst = kWhen == When::kIfApplied ? 1 : 0, kRates = kFirst + 2 + kOptimizer.form.num_slots,
                          kInputs = kRates + kOptimizer.form.num_rates(), kOutputs = 1 + kOptimizer.form.num_slots;

  size_t input = 0, output = 0;

  size_t weight() const { return input + kFirst; }
  size_t gradient() const { return input + kFirst + 1; }
  size_t slot(size_t i) const { return input + kFirst + 2 + i; }
  size_t rate(size_t i) const { return input + kRates + i; }
};

// Inputs that do not fit are refused here; other kernel rows report the error.
template <const Optimizer& kOptimizer, When kWhen>
Refusal WhyNotStepOf(const KernelContext& context, const Ports<kOptimizer, kWhen>& ports) {
  if (kWhen == When::kIfApplied && !IsNumber(context.Input(ports.input), DType::kBool)) return "no truth value";
  for (size_t port = ports.weight(); port < ports.rate(0); ++port) {
    const Tensor& tensor = context.Input(port);
    if (tensor.dtype() != DType::kFloat32) return "another type than float32";
    if (tensor.dims() != context.Input(ports.weight()).dims()) return "tensors of different shapes";
  }
  for (size_t i = 0; i < kOptimizer.form.num_rates(); ++i) {
    if (!IsNumber(context.Input(ports.rate(i)), DType::kFloat32)) return "a rate that is no float32 number";
  }
  return {};
}

template <const Optimizer& kOptimizer, When kWhen>
Refusal WhyNotStep(const KernelContext& context) {
  if (const Refusal refusal = WhyNotStepOf(context, Ports<kOptimizer, kWhen>{})) return refusal;
  return ReadOptimizer(context.node(), kOptimizer.form).ok() ? nullptr : "an attribute that is missing";
}

template <const Optimizer& kOptimizer, When kWhen>
device::OptimizerRule RuleOf(const KernelContext& context) {
  constexpr Ports<kOptimizer, kWhen> kPorts;
  // WhyNotStep or StepAll has checked that the attributes exist.
  const OptimizerNumbers numbers = ReadOptimizer(context.node(), kOptimizer.form).value_or(OptimizerNumbers());
  device::OptimizerRule rule = {};
  rule.optimizer = kOptimizer.rule;
  rule.rate = Floats(context.Input(kPorts.rate(0)));
  if (kOptimizer.form.decays) rule.learning_rate = Floats(context.Input(kPorts.rate(1)));
  if (kWhen == When::kIfApplied) rule.applies = static_cast<const uint8_t*>(context.Input(0).data());
  rule.keep_first = numbers.keep_first;
  rule.keep_second = numbers.keep_second;
  rule.epsilon = numbers.epsilon;
  rule.decay = numbers.weight_decay;
  return rule;
}

template <const Optimizer& kOptimizer, When kWhen>
absl::StatusOr<device::OptimizedTensor> TensorAt(KernelContext& context, const Ports<kOptimizer, kWhen>& ports) {
  device::OptimizedTensor of = {};
  of.count = CountOf(context.Input(ports.weight()));
  of.weight = Floats(context.Input(ports.weight()));
  of.gradient = Floats(context.Input(ports.gradient()));
  AMP_ASSIGN_OR_RETURN(Tensor * next, context.MakeOutputInPlace(ports.output, ports.weight()));
  of.next_weight = static_cast<float*>(next->mutable_data());
  for (size_t i = 0; i < kOptimizer.form.num_slots; ++i) {
    of.slots[i] = Floats(context.Input(ports.slot(i)));
    if (ports.output + 1 + i >= context.num_outputs()) continue;  // a call may leave out the last outputs
    AMP_ASSIGN_OR_RETURN(Tensor * next_slot, context.MakeOutputInPlace(ports.output + 1 + i, ports.slot(i)));
    of.next_slots[i] = static_cast<float*>(next_slot->mutable_data());
  }
  return of;
}

// Starts as few launches as possible: one holds as many tensors as fit its parameters.
void StartAll(Accelerator& device, const device::OptimizerRule& rule,
              absl::Span<const device::OptimizedTensor> tensors) {
  device::OptimizeArguments step = {};
  step.rule = rule;
  for (const device::OptimizedTensor& tensor : tensors) {
    if (tensor.count == 0) continue;
    step.Add(tensor);
    if (step.num_tensors < device::kMostOptimized) continue;
    device.Start(step);
    step.num_tensors = step.num_chunks = 0;
  }
  if (step.num_tensors > 0) device.Start(step);
}

template <const Optimizer& kOptimizer, When kWhen>
absl::Status Step(KernelContext& context) {
  context.Report("optimizer", DType::kFloat32);
  AMP_ASSIGN_OR_RETURN(const device::OptimizedTensor tensor, TensorAt(context, Ports<kOptimizer, kWhen>{}));
  StartAll(*context.resources().device, RuleOf<kOptimizer, kWhen>(context), {tensor});
  return absl::OkStatus();
}

// Computes a fused pattern: nodes with all their outputs and with the same attributes, rates and truth value.
template <const Optimizer& kOptimizer, When kWhen>
absl::Status StepAll(KernelContext& context) {
  using OfNode = Ports<kOptimizer, kWhen>;
  context.Report("optimizer", DType::kFloat32);
  const size_t num_nodes = context.num_inputs() / OfNode::kInputs;
  if (!ReadOptimizer(context.node(), kOptimizer.form).ok()) {
    return Refusal("an attribute that is missing");
  }
  for (size_t i = 0; i < num_nodes; ++i) {
    const OfNode ports{.input = i * OfNode::kInputs, .output = i * OfNode::kOutputs};
    if (const Refusal refusal = WhyNotStepOf(context, ports)) return refusal;
  }
  std::vector<device::OptimizedTensor> tensors;
  for (size_t i = 0; i < num_nodes; ++i) {
    const OfNode ports{.input = i * OfNode::kInputs, .output = i * OfNode::kOutputs};
    AMP_ASSIGN_OR_RETURN(tensors.emplace_back(), TensorAt(context, ports));
  }
  StartAll(*context.resources().device, RuleOf<kOptimizer, kWhen>(context), tensors);
  return absl::OkStatus();
}

// ---- rates ----------------------------------------------------------------------------------------------------------

Refusal WhyNotRate(const KernelContext& context) {
  if (!IsNumber(context.Input(0), DType::kFloat32)) return "a learning rate that is no float32 number";
  if (!IsNumber(context.Input(1), DType::kInt64)) return "a count that is no int64 number";
  return ReadAdamRate(context.node()).ok() ? nullptr : "an attribute that is missing";
}

absl::Status AdamRate(KernelContext& context) {
  context.Report("rate", DType::kFloat64);
  AMP_ASSIGN_OR_RETURN(const AdamRateForm form, ReadAdamRate(context.node()));
  AMP_ASSIGN_OR_RETURN(Tensor * rate, context.MakeOutput(0, DType::kFloat32, context.Input(0).dims()));
  context.resources().device->Start(
      device::AdamRateArguments{.learning_rate = Floats(context.Input(0)),
                                .updates = static_cast<const int64_t*>(context.Input(1).data()),
                                .rate = static_cast<float*>(rate->mutable_data()),
                                .beta1 = form.beta1,
                                .beta2 = form.beta2});
  return absl::OkStatus();
}

// ---- loss scale -----------------------------------------------------------------------------------------------------

Refusal WhyNotFinite(const KernelContext& context) {
  return context.Input(0).dtype() == DType::kFloat32 ? nullptr : "another type than float32";
}

absl::Status AllFinite(KernelContext& context) {
  context.Report("check", DType::kFloat32);
  AMP_ASSIGN_OR_RETURN(Tensor * finite, context.MakeOutput(0, DType::kBool, {}));
  context.resources().device->Start(
      device::CheckFiniteArguments{.x = Floats(context.Input(0)),
                                   .finite = static_cast<uint8_t*>(finite->mutable_data()),
                                   .count = CountOf(context.Input(0))});
  return absl::OkStatus();
}

Refusal WhyNotScale(const KernelContext& context) {
  if (const Refusal refusal = WhyNotFinite(context)) return refusal;
  return IsNumber(context.Input(1), DType::kFloat32) ? nullptr : "a factor that is no float32 number";
}

absl::Status ScaleGradient(KernelContext& context) {
  context.Report("zip", DType::kFloat32);
  AMP_ASSIGN_OR_RETURN(Tensor * scaled, context.MakeOutputLike(0, 0));
  const Tensor& gradient = context.Input(0);
  if (gradient.num_elements() == 0) return absl::OkStatus();
  const Broadcast meeting = {{gradient.num_elements()}, {{1}, {0}}};
  context.resources().device->Start(device::ZipArguments{.operands = {.a = gradient.data(),
                                                                      .b = context.Input(1).data(),
                                                                      .y = scaled->mutable_data(),
                                                                      .count = CountOf(gradient),
                                                                      .storage = device::Storage::kFloat32,
                                                                      .shape = ShapeOf<2>(meeting),
                                                                      .is_flat = false},
                                                         .function = device::BinaryFunction::kMultiply});
  return absl::OkStatus();
}

Refusal WhyNotLossScale(const KernelContext& context) {
  const Tensor &scale = context.Input(0), &good_steps = context.Input(1), &finite = context.Input(2);
  const bool are_of_types =
      scale.dtype() == DType::kFloat32 && good_steps.dtype() == DType::kInt64 && finite.dtype() == DType::kBool;
  if (!are_of_types || scale.dims() != good_steps.dims() || scale.dims() != finite.dims())
    return "operands that differ";
  return ReadLossScale(context.node()).ok() ? nullptr : "an attribute that is missing";
}

// Updates one loss scale, or as many as there are elements.
absl::Status UpdateLossScale(KernelContext& context) {
  context.Report("loss scale", DType::kFloat32);
  const Tensor& scale = context.Input(0);
  AMP_ASSIGN_OR_RETURN(const LossScaleForm form, ReadLossScale(context.node()));
  AMP_ASSIGN_OR_RETURN(Tensor * next_scale, context.MakeOutputInPlace(0, 0));
  AMP_ASSIGN_OR_RETURN(Tensor * next_good_steps, context.MakeOutputInPlace(1, 1));
  context.resources().device->Start(
      device::UpdateLossScaleArguments{.scale = Floats(scale),
                                       .good_steps = static_cast<const int64_t*>(context.Input(1).data()),
                                       .finite = static_cast<const uint8_t*>(context.Input(2).data()),
                                       .next_scale = static_cast<float*>(next_scale->mutable_data()),
                                       .next_good_steps = static_cast<int64_t*>(next_good_steps->mutable_data()),
                                       .count = CountOf(scale),
                                       .interval = form.interval,
                                       .growth = form.growth,
                                       .backoff = form.backoff,
                                       .floor = form.floor,
                                       .cap = form.cap});
  return absl::OkStatus();
}

template <const Optimizer& kOptimizer>
constexpr KernelRow RowOf(absl::string_view name) {
  return InPlace(DeviceRow(name, Step<kOptimizer, When::kAlways>, WhyNotStep<kOptimizer, When::kAlways>, {}, kDomain));
}
template <const Optimizer& kOptimizer>
constexpr KernelRow ConditionalRowOf(absl::string_view name) {
  return InPlace(
      DeviceRow(name, Step<kOptimizer, When::kIfApplied>, WhyNotStep<kOptimizer, When::kIfApplied>, {}, kDomain));
}

template <const Optimizer& kOptimizer, When kWhen>
constexpr FusedOptimizer FusedOf(absl::string_view name) {
  using OfNode = Ports<kOptimizer, kWhen>;
  FusedOptimizer fused = {.row = InPlace(DeviceRow(name, StepAll<kOptimizer, kWhen>, nullptr, {}, kDomain)),
                          .num_inputs = OfNode::kInputs,
                          .num_outputs = OfNode::kOutputs,
                          .first_rate = OfNode::kRates,
                          .is_conditional = kWhen == When::kIfApplied,
                          .attributes = kOptimizer.form.Attributes()};
  return fused;
}

constexpr FusedOptimizer kFusedOptimizers[] = {
    FusedOf<kSgd, When::kAlways>("Sgd"),
    FusedOf<kMomentum, When::kAlways>("Momentum"),
    FusedOf<kNesterov, When::kAlways>("NesterovMomentum"),
    FusedOf<kRmsprop, When::kAlways>("Rmsprop"),
    FusedOf<kAdam, When::kAlways>("Adam"),
    FusedOf<kAdamW, When::kAlways>("AdamW"),
    FusedOf<kSgd, When::kIfApplied>("ConditionalSgd"),
    FusedOf<kMomentum, When::kIfApplied>("ConditionalMomentum"),
    FusedOf<kNesterov, When::kIfApplied>("ConditionalNesterovMomentum"),
    FusedOf<kRmsprop, When::kIfApplied>("ConditionalRmsprop"),
    FusedOf<kAdam, When::kIfApplied>("ConditionalAdam"),
    FusedOf<kAdamW, When::kIfApplied>("ConditionalAdamW"),
};

constexpr KernelRow kRows[] = {
    RowOf<kSgd>("Sgd"),
    RowOf<kMomentum>("Momentum"),
    RowOf<kNesterov>("NesterovMomentum"),
    RowOf<kRmsprop>("Rmsprop"),
    RowOf<kAdam>("Adam"),
    RowOf<kAdamW>("AdamW"),
    ConditionalRowOf<kSgd>("ConditionalSgd"),
    ConditionalRowOf<kMomentum>("ConditionalMomentum"),
    ConditionalRowOf<kNesterov>("ConditionalNesterovMomentum"),
    ConditionalRowOf<kRmsprop>("ConditionalRmsprop"),
    ConditionalRowOf<kAdam>("ConditionalAdam"),
    ConditionalRowOf<kAdamW>("ConditionalAdamW"),
    DeviceRow("AdamRate", AdamRate, WhyNotRate, {}, kDomain),
    DeviceRow("AllFinite", AllFinite, WhyNotFinite, {}, kDomain),
    DeviceRow("ScaleGradient", ScaleGradient, WhyNotScale, {}, kDomain),
    InPlace(DeviceRow("UpdateLossScale", UpdateLossScale, WhyNotLossScale, {}, kDomain)),
};

}  // namespace

absl::Span<const KernelRow> OptimizerDeviceKernels() { return kRows; }

const FusedOptimizer* FindFusedOptimizer(absl::string_view domain, absl::string_view op_type) {
  for (const FusedOptimizer& fused : kFusedOptimizers) {
    if (fused.row.domain == domain && fused.row.op_type == op_type) return &fused;
  }
  return nullptr;
}

}  // namespace amp
