// The functions of domain ai.amp that optimizers and loss scales are made of, on a device: nothing of them is looked at
// by the processor, so that a step that is skipped is one like any other.
//
//   weight, rms = ai.amp.ConditionalRmsprop (apply, weight, gradient, rms, rate)       one pass over the elements
//   several of them, of one rate and truth value                                       one launch for all
//
// Where `apply` does not hold, the next state is a copy of the present one.
#include <optional>
#include <vector>

#include "ir/base/status.h"
#include "runtime/device/families.h"
#include "runtime/device/optimizer_units.h"
#include "runtime/device/raw/elementwise.h"
#include "runtime/device/raw/optimizer.h"
#include "runtime/device/storage.h"
#include "runtime/kernel/shape_math.h"

namespace amp {
namespace {

constexpr absl::string_view kDomain = "ai.amp";

const float* Floats(const Tensor& tensor) { return static_cast<const float*>(tensor.data()); }

bool IsNumber(const Tensor& tensor, DType dtype) { return tensor.dtype() == dtype && tensor.num_elements() == 1; }

// ---- optimizers -----------------------------------------------------------------------------------------------------

// Inputs: `apply` of a conditional one, weight, gradient, slots, rate, and for kDecays the learning rate.
struct OptimizerForm {
  device::Optimizer optimizer;
  size_t num_slots;
  const char *first, *second;  // attributes: what is kept of the slots
  bool has_epsilon, decays;

  constexpr size_t num_rates() const { return decays ? 2 : 1; }
};
constexpr OptimizerForm kSgd = {device::Optimizer::kSgd, 0, nullptr, nullptr, false, false};
constexpr OptimizerForm kMomentum = {device::Optimizer::kMomentum, 1, "momentum", nullptr, false, false};
constexpr OptimizerForm kNesterov = {device::Optimizer::kNesterov, 1, "momentum", nullptr, false, false};
constexpr OptimizerForm kRmsprop = {device::Optimizer::kRmsprop, 1, "rho", nullptr, true, false};
constexpr OptimizerForm kAdam = {device::Optimizer::kAdam, 2, "beta1", "beta2", true, false};
constexpr OptimizerForm kAdamW = {device::Optimizer::kAdam, 2, "beta1", "beta2", true, true};

enum class When { kAlways, kIfApplied };

constexpr OptimizerAttributes AttributesOf(const OptimizerForm& form) {
  return {form.first, form.second, form.has_epsilon ? "epsilon" : nullptr, form.decays ? "weight_decay" : nullptr};
}

bool HasAttributes(const KernelContext& context, const OptimizerForm& form) {
  for (const char* const name : AttributesOf(form)) {
    if (name != nullptr && !GetFloat(context.node(), name).has_value()) return false;
  }
  return true;
}

// Where the operands of one node are, and the results: of a unit, those of its nodes follow one another.
template <const OptimizerForm& kForm, When kWhen>
struct Ports {
  static constexpr size_t kFirst = kWhen == When::kIfApplied ? 1 : 0, kRates = kFirst + 2 + kForm.num_slots,
                          kInputs = kRates + kForm.num_rates(), kOutputs = 1 + kForm.num_slots;

  size_t input = 0, output = 0;

  size_t weight() const { return input + kFirst; }
  size_t gradient() const { return input + kFirst + 1; }
  size_t slot(size_t i) const { return input + kFirst + 2 + i; }
  size_t rate(size_t i) const { return input + kRates + i; }
};

// What does not fit is the other rows' to complain about.
template <const OptimizerForm& kForm, When kWhen>
const char* WhyNotStepOf(const KernelContext& context, const Ports<kForm, kWhen>& ports) {
  if (kWhen == When::kIfApplied && !IsNumber(context.Input(ports.input), DType::kBool)) return "no truth value";
  for (size_t port = ports.weight(); port < ports.rate(0); ++port) {
    const Tensor& tensor = context.Input(port);
    if (tensor.dtype() != DType::kFloat32) return "another type than float32";
    if (tensor.dims() != context.Input(ports.weight()).dims()) return "tensors of different shapes";
  }
  for (size_t i = 0; i < kForm.num_rates(); ++i) {
    if (!IsNumber(context.Input(ports.rate(i)), DType::kFloat32)) return "a rate that is no float32 number";
  }
  return nullptr;
}

template <const OptimizerForm& kForm, When kWhen>
const char* WhyNotStep(const KernelContext& context) {
  if (const char* const why_not = WhyNotStepOf(context, Ports<kForm, kWhen>{})) return why_not;
  return HasAttributes(context, kForm) ? nullptr : "an attribute that is missing";
}

template <const OptimizerForm& kForm, When kWhen>
device::OptimizerRule RuleOf(const KernelContext& context) {
  constexpr Ports<kForm, kWhen> kPorts;
  const Node& node = context.node();
  device::OptimizerRule rule = {};
  rule.optimizer = kForm.optimizer;
  rule.rate = Floats(context.Input(kPorts.rate(0)));
  if (kForm.decays) rule.learning_rate = Floats(context.Input(kPorts.rate(1)));
  if (kWhen == When::kIfApplied) rule.applies = static_cast<const uint8_t*>(context.Input(0).data());
  if (kForm.first != nullptr) rule.keep_first = GetFloat(node, kForm.first, 0);
  if (kForm.second != nullptr) rule.keep_second = GetFloat(node, kForm.second, 0);
  if (kForm.has_epsilon) rule.epsilon = GetFloat(node, "epsilon", 0);
  if (kForm.decays) rule.decay = GetFloat(node, "weight_decay", 0);
  return rule;
}

template <const OptimizerForm& kForm, When kWhen>
absl::StatusOr<device::OptimizedTensor> TensorAt(KernelContext& context, const Ports<kForm, kWhen>& ports) {
  device::OptimizedTensor of = {};
  of.count = CountOf(context.Input(ports.weight()));
  of.weight = Floats(context.Input(ports.weight()));
  of.gradient = Floats(context.Input(ports.gradient()));
  AMP_ASSIGN_OR_RETURN(Tensor * next, context.MakeOutputInPlace(ports.output, ports.weight()));
  of.next_weight = static_cast<float*>(next->mutable_data());
  for (size_t i = 0; i < kForm.num_slots; ++i) {
    of.slots[i] = Floats(context.Input(ports.slot(i)));
    if (ports.output + 1 + i >= context.num_outputs()) continue;  // a call may leave out the last outputs
    AMP_ASSIGN_OR_RETURN(Tensor * next_slot, context.MakeOutputInPlace(ports.output + 1 + i, ports.slot(i)));
    of.next_slots[i] = static_cast<float*>(next_slot->mutable_data());
  }
  return of;
}

// As few launches as there is room in the parameters of one.
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

template <const OptimizerForm& kForm, When kWhen>
absl::Status Step(KernelContext& context) {
  context.Report("optimizer", DType::kFloat32);
  AMP_ASSIGN_OR_RETURN(const device::OptimizedTensor tensor, TensorAt(context, Ports<kForm, kWhen>{}));
  StartAll(*context.resources().device, RuleOf<kForm, kWhen>(context), {tensor});
  return absl::OkStatus();
}

// Of a unit: nodes with all their outputs, the same attributes, rates and truth value.
template <const OptimizerForm& kForm, When kWhen>
absl::Status StepAll(KernelContext& context) {
  using OfNode = Ports<kForm, kWhen>;
  context.Report("optimizer", DType::kFloat32);
  const size_t num_nodes = context.num_inputs() / OfNode::kInputs;
  if (!HasAttributes(context, kForm)) return absl::UnimplementedError("an attribute that is missing");
  for (size_t i = 0; i < num_nodes; ++i) {
    const OfNode ports{.input = i * OfNode::kInputs, .output = i * OfNode::kOutputs};
    if (const char* const why_not = WhyNotStepOf(context, ports)) return absl::UnimplementedError(why_not);
  }
  std::vector<device::OptimizedTensor> tensors;
  for (size_t i = 0; i < num_nodes; ++i) {
    const OfNode ports{.input = i * OfNode::kInputs, .output = i * OfNode::kOutputs};
    AMP_ASSIGN_OR_RETURN(tensors.emplace_back(), TensorAt(context, ports));
  }
  StartAll(*context.resources().device, RuleOf<kForm, kWhen>(context), tensors);
  return absl::OkStatus();
}

// ---- rates ----------------------------------------------------------------------------------------------------------

const char* WhyNotRate(const KernelContext& context) {
  if (!IsNumber(context.Input(0), DType::kFloat32)) return "a learning rate that is no float32 number";
  if (!IsNumber(context.Input(1), DType::kInt64)) return "a count that is no int64 number";
  for (const char* const name : {"beta1", "beta2"}) {
    if (!GetFloat(context.node(), name).has_value()) return "an attribute that is missing";
  }
  return nullptr;
}

absl::Status AdamRate(KernelContext& context) {
  context.Report("rate", DType::kFloat64);
  AMP_ASSIGN_OR_RETURN(Tensor * rate, context.MakeOutput(0, DType::kFloat32, context.Input(0).dims()));
  context.resources().device->Start(
      device::AdamRateArguments{.learning_rate = Floats(context.Input(0)),
                                .updates = static_cast<const int64_t*>(context.Input(1).data()),
                                .rate = static_cast<float*>(rate->mutable_data()),
                                .beta1 = GetFloat(context.node(), "beta1", 0),
                                .beta2 = GetFloat(context.node(), "beta2", 0)});
  return absl::OkStatus();
}

// ---- loss scale -----------------------------------------------------------------------------------------------------

const char* WhyNotFinite(const KernelContext& context) {
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

const char* WhyNotScale(const KernelContext& context) {
  if (const char* why = WhyNotFinite(context)) return why;
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

constexpr const char* kLossScaleAttributes[] = {"growth", "backoff", "floor", "cap"};

const char* WhyNotLossScale(const KernelContext& context) {
  const Tensor &scale = context.Input(0), &good_steps = context.Input(1), &finite = context.Input(2);
  const bool are_of_types =
      scale.dtype() == DType::kFloat32 && good_steps.dtype() == DType::kInt64 && finite.dtype() == DType::kBool;
  if (!are_of_types || scale.dims() != good_steps.dims() || scale.dims() != finite.dims())
    return "operands that differ";
  for (const char* const name : kLossScaleAttributes) {
    if (!GetFloat(context.node(), name).has_value()) return "an attribute that is missing";
  }
  return GetInt(context.node(), "interval").has_value() ? nullptr : "an attribute that is missing";
}

// Of one scale, or of as many as there are elements.
absl::Status UpdateLossScale(KernelContext& context) {
  context.Report("loss scale", DType::kFloat32);
  const Tensor& scale = context.Input(0);
  const Node& node = context.node();
  AMP_ASSIGN_OR_RETURN(Tensor * next_scale, context.MakeOutputInPlace(0, 0));
  AMP_ASSIGN_OR_RETURN(Tensor * next_good_steps, context.MakeOutputInPlace(1, 1));
  context.resources().device->Start(
      device::UpdateLossScaleArguments{.scale = Floats(scale),
                                       .good_steps = static_cast<const int64_t*>(context.Input(1).data()),
                                       .finite = static_cast<const uint8_t*>(context.Input(2).data()),
                                       .next_scale = static_cast<float*>(next_scale->mutable_data()),
                                       .next_good_steps = static_cast<int64_t*>(next_good_steps->mutable_data()),
                                       .count = CountOf(scale),
                                       .interval = GetInt(node, "interval", 0),
                                       .growth = GetFloat(node, "growth", 0),
                                       .backoff = GetFloat(node, "backoff", 0),
                                       .floor = GetFloat(node, "floor", 0),
                                       .cap = GetFloat(node, "cap", 0)});
  return absl::OkStatus();
}

template <const OptimizerForm& kForm>
constexpr KernelRow RowOf(absl::string_view name) {
  return InPlace(DeviceRow(name, Step<kForm, When::kAlways>, WhyNotStep<kForm, When::kAlways>, {}, kDomain));
}
template <const OptimizerForm& kForm>
constexpr KernelRow ConditionalRowOf(absl::string_view name) {
  return InPlace(DeviceRow(name, Step<kForm, When::kIfApplied>, WhyNotStep<kForm, When::kIfApplied>, {}, kDomain));
}

template <const OptimizerForm& kForm, When kWhen>
constexpr OptimizerUnit UnitOf(absl::string_view name) {
  using OfNode = Ports<kForm, kWhen>;
  OptimizerUnit unit = {.row = InPlace(DeviceRow(name, StepAll<kForm, kWhen>, nullptr, {}, kDomain)),
                        .num_inputs = OfNode::kInputs,
                        .num_outputs = OfNode::kOutputs,
                        .first_rate = OfNode::kRates,
                        .is_conditional = kWhen == When::kIfApplied,
                        .attributes = AttributesOf(kForm)};
  return unit;
}

constexpr OptimizerUnit kUnits[] = {
    UnitOf<kSgd, When::kAlways>("Sgd"),
    UnitOf<kMomentum, When::kAlways>("Momentum"),
    UnitOf<kNesterov, When::kAlways>("NesterovMomentum"),
    UnitOf<kRmsprop, When::kAlways>("Rmsprop"),
    UnitOf<kAdam, When::kAlways>("Adam"),
    UnitOf<kAdamW, When::kAlways>("AdamW"),
    UnitOf<kSgd, When::kIfApplied>("ConditionalSgd"),
    UnitOf<kMomentum, When::kIfApplied>("ConditionalMomentum"),
    UnitOf<kNesterov, When::kIfApplied>("ConditionalNesterovMomentum"),
    UnitOf<kRmsprop, When::kIfApplied>("ConditionalRmsprop"),
    UnitOf<kAdam, When::kIfApplied>("ConditionalAdam"),
    UnitOf<kAdamW, When::kIfApplied>("ConditionalAdamW"),
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

const OptimizerUnit* FindOptimizerUnit(absl::string_view domain, absl::string_view op_type) {
  for (const OptimizerUnit& unit : kUnits) {
    if (unit.row.domain == domain && unit.row.op_type == op_type) return &unit;
  }
  return nullptr;
}

}  // namespace amp
