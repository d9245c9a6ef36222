// The functions of domain ai.amp that optimizers and loss scales are made of, each in one go instead of node by node.
//
//   weight, rms = ai.amp.ConditionalRmsprop (apply, weight, gradient, rms, rate)       one pass over the elements
//
// Their bodies, which say what they mean, are those of passes/train; a model that is run without these kernels runs
// them. Where `apply` does not hold, the next state is the present one, without a copy.
#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "ir/base/status.h"
#include "runtime/forms/optimizer.h"
#include "runtime/kernel/shape_math.h"
#include "runtime/loops/best_loops.h"
#include "runtime/loops/families.h"
#include "runtime/loops/float_parts.h"

namespace amp {
namespace {

constexpr absl::string_view kDomain = "ai.amp";

absl::StatusOr<bool> Truth(const KernelContext& context, size_t port) {
  const Tensor& tensor = context.Input(port);
  if (tensor.dtype() == DType::kBool && tensor.num_elements() == 1) return tensor.elements<bool>()[0];
  return ModelError("input ", port, ": expected bool[], found ", context.InputDatum(port).TypeText());
}

absl::StatusOr<float> Number(const KernelContext& context, size_t port) {
  AMP_ASSIGN_OR_RETURN(const double number, context.InputNumber(port));
  return static_cast<float>(number);
}

// ---- optimizers -----------------------------------------------------------------------------------------------------

struct Optimizer {
  OptimizerLoop TrainLoops::*loop;
  const OptimizerForm& form;
};
constexpr Optimizer kSgd = {&TrainLoops::sgd, kSgdForm};
constexpr Optimizer kMomentum = {&TrainLoops::momentum, kMomentumForm};
constexpr Optimizer kNesterov = {&TrainLoops::nesterov, kMomentumForm};
constexpr Optimizer kRmsprop = {&TrainLoops::rmsprop, kRmspropForm};
constexpr Optimizer kAdam = {&TrainLoops::adam, kAdamForm};
constexpr Optimizer kAdamW = {&TrainLoops::adam, kAdamWForm};

// Inputs: `apply` of a conditional one, weight, gradient, slots, rate, and for one that decays the learning rate.
enum class When { kAlways, kIfApplied };

absl::StatusOr<OptimizerParameters> ReadParameters(const KernelContext& context, const OptimizerForm& form,
                                                   size_t rate_port) {
  AMP_ASSIGN_OR_RETURN(const OptimizerNumbers numbers, ReadOptimizer(context.node(), form));
  OptimizerParameters parameters;
  AMP_ASSIGN_OR_RETURN(parameters.rate, Number(context, rate_port));
  parameters.keep_first = numbers.keep_first;
  parameters.keep_second = numbers.keep_second;
  parameters.epsilon = numbers.epsilon;
  if (form.decays) {
    AMP_ASSIGN_OR_RETURN(const float learning_rate, Number(context, rate_port + 1));
    parameters.decay = numbers.weight_decay * learning_rate;
  }
  return parameters;
}

absl::Status CheckTensors(const KernelContext& context, size_t first, size_t count) {
  for (size_t port = first; port < first + count; ++port) {
    const Tensor& tensor = context.Input(port);
    if (tensor.dtype() == DType::kFloat32 && tensor.dims() == context.Input(first).dims()) continue;
    return ModelError("input ", port, ": expected float32", DimsText(context.Input(first).dims()), ", found ",
                      context.InputDatum(port).TypeText());
  }
  return absl::OkStatus();
}

// visit(first, count, index) for the pieces that the threads of the run have.
template <typename Visit>
void ForEachPiece(size_t count, const Visit& visit) {
  ParallelFor((count + kPartSize - 1) / kPartSize, kPartSize, [&](const Share& share) {
    const size_t first = share.first * kPartSize;
    visit(first, std::min(share.end * kPartSize, count) - first, share.index);
  });
}

OptimizerTensors From(const OptimizerTensors& tensors, size_t first, size_t num_slots) {
  OptimizerTensors result = tensors;
  result.weight += first;
  result.gradient += first;
  result.next_weight += first;
  for (size_t i = 0; i < num_slots; ++i) {
    result.slots[i] += first;
    result.next_slots[i] += first;
  }
  return result;
}

template <const Optimizer& kOptimizer, When kWhen>
absl::Status Step(KernelContext& context) {
  constexpr size_t kFirst = kWhen == When::kIfApplied ? 1 : 0;
  constexpr size_t kSlots = kOptimizer.form.num_slots;
  AMP_RETURN_IF_ERROR(CheckTensors(context, kFirst, 2 + kSlots));
  if (kWhen == When::kIfApplied) {
    AMP_ASSIGN_OR_RETURN(const bool applies, Truth(context, 0));
    if (!applies) {
      context.SetOutput(0, context.InputDatum(kFirst));
      for (size_t i = 0; i < kSlots; ++i) context.SetOutput(1 + i, context.InputDatum(kFirst + 2 + i));
      return absl::OkStatus();
    }
  }
  AMP_ASSIGN_OR_RETURN(const OptimizerParameters parameters,
                       ReadParameters(context, kOptimizer.form, kFirst + 2 + kSlots));
  OptimizerTensors tensors = {};
  const auto elements = [&](size_t port) { return context.Input(kFirst + port).elements<float>().data(); };
  tensors.weight = elements(0);
  tensors.gradient = elements(1);
  const Dims dims = context.Input(kFirst).dims();
  const auto count = static_cast<size_t>(context.Input(kFirst).num_elements());
  AMP_ASSIGN_OR_RETURN(Tensor * next, context.MakeOutput(0, DType::kFloat32, dims));
  tensors.next_weight = next->mutable_elements<float>().data();
  std::array<Tensor, 2> unseen;  // a call may leave out the last outputs
  for (size_t i = 0; i < kSlots; ++i) {
    tensors.slots[i] = elements(2 + i);
    Tensor* next_slot = &unseen[i];
    if (1 + i < context.num_outputs()) {
      AMP_ASSIGN_OR_RETURN(next_slot, context.MakeOutput(1 + i, DType::kFloat32, dims));
    } else {
      AMP_ASSIGN_OR_RETURN(unseen[i], context.MakeScratch(DType::kFloat32, dims));
    }
    tensors.next_slots[i] = next_slot->mutable_elements<float>().data();
  }
  const OptimizerLoop step = BestLoops().train.*kOptimizer.loop;
  ForEachPiece(count, [&](size_t first, size_t size, size_t) { step(From(tensors, first, kSlots), size, parameters); });
  return absl::OkStatus();
}

// learning_rate * sqrt(1 - beta2^t) / (1 - beta1^t) at update t, in float64: the powers are nearly 1.
absl::Status AdamRate(KernelContext& context) {
  AMP_ASSIGN_OR_RETURN(const double learning_rate, context.InputNumber(0));
  AMP_ASSIGN_OR_RETURN(const int64_t updates, context.InputInt(1));
  AMP_ASSIGN_OR_RETURN(const AdamRateForm form, ReadAdamRate(context.node()));
  AMP_ASSIGN_OR_RETURN(Tensor * rate, context.MakeOutput(0, DType::kFloat32, context.Input(0).dims()));
  const double count = static_cast<double>(updates) + 1;
  const double first = 1 - std::pow(static_cast<double>(form.beta1), count),
               second = 1 - std::pow(static_cast<double>(form.beta2), count);
  rate->mutable_elements<float>()[0] = static_cast<float>(learning_rate * (std::sqrt(second) / first));
  return absl::OkStatus();
}

// ---- loss scale -----------------------------------------------------------------------------------------------------

absl::Status AllFinite(KernelContext& context) {
  AMP_RETURN_IF_ERROR(CheckTensors(context, 0, 1));
  const auto elements = context.Input(0).elements<float>();
  AMP_ASSIGN_OR_RETURN(Tensor * finite, context.MakeOutput(0, DType::kBool, {}));
  std::vector<char> are_finite(MostShares(), 1);
  ForEachPiece(elements.size(), [&](size_t first, size_t count, size_t index) {
    are_finite[index] = BestLoops().train.all_finite(elements.data() + first, count) ? 1 : 0;
  });
  finite->mutable_elements<bool>()[0] = std::count(are_finite.begin(), are_finite.end(), 0) == 0;
  return absl::OkStatus();
}

absl::Status ScaleGradient(KernelContext& context) {
  AMP_RETURN_IF_ERROR(CheckTensors(context, 0, 1));
  AMP_ASSIGN_OR_RETURN(const float factor, Number(context, 1));
  AMP_ASSIGN_OR_RETURN(Tensor * scaled, context.MakeOutputLike(0, 0));
  const auto from = context.Input(0).elements<float>();
  float* const to = scaled->mutable_elements<float>().data();
  ForEachPiece(from.size(), [&](size_t first, size_t count, size_t) {
    BestLoops().unary.multiply(from.data() + first, to + first, count, {.a = factor});
  });
  return absl::OkStatus();
}

void UpdateOne(const LossScaleForm& form, bool finite, float& scale, int64_t& good_steps) {
  if (!finite) {
    scale = std::max(scale * form.backoff, form.floor);
    good_steps = 0;
  } else if (good_steps + 1 < form.interval) {
    ++good_steps;
  } else {
    if (scale * form.growth <= form.cap) scale *= form.growth;
    good_steps = 0;
  }
}

// Updates one loss scale, or as many as there are elements.
absl::Status UpdateLossScale(KernelContext& context) {
  const Tensor &scale = context.Input(0), &good_steps = context.Input(1), &finite = context.Input(2);
  const bool are_of_types =
      scale.dtype() == DType::kFloat32 && good_steps.dtype() == DType::kInt64 && finite.dtype() == DType::kBool;
  if (!are_of_types || scale.dims() != good_steps.dims() || scale.dims() != finite.dims()) {
    return ModelError("expected float32, int64 and bool of one shape, found ", scale.TypeText(), ", ",
                      good_steps.TypeText(), " and ", finite.TypeText());
  }
  AMP_ASSIGN_OR_RETURN(const LossScaleForm form, ReadLossScale(context.node()));
  const auto scales = scale.elements<float>();
  const auto counts = good_steps.elements<int64_t>();
  const auto are_finite = finite.elements<bool>();
  std::vector<float> next_scales(scales.begin(), scales.end());
  std::vector<int64_t> next_counts(counts.begin(), counts.end());
  for (size_t i = 0; i < next_scales.size(); ++i) {
    UpdateOne(form, are_finite[i], next_scales[i], next_counts[i]);
  }
  context.SetOutput(0, Tensor::Of<float>(DType::kFloat32, scale.dims(), next_scales));
  context.SetOutput(1, Tensor::Of<int64_t>(DType::kInt64, scale.dims(), next_counts));
  return absl::OkStatus();
}

template <const Optimizer& kOptimizer>
constexpr KernelRow RowOf(absl::string_view name) {
  return {.op_type = name, .function = Step<kOptimizer, When::kAlways>, .domain = kDomain, .family = "loops"};
}
template <const Optimizer& kOptimizer>
constexpr KernelRow ConditionalRowOf(absl::string_view name) {
  return {.op_type = name, .function = Step<kOptimizer, When::kIfApplied>, .domain = kDomain, .family = "loops"};
}

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
    {.op_type = "AdamRate", .function = AdamRate, .domain = kDomain, .family = "loops"},
    {.op_type = "AllFinite", .function = AllFinite, .domain = kDomain, .family = "loops"},
    {.op_type = "ScaleGradient", .function = ScaleGradient, .domain = kDomain, .family = "loops"},
    {.op_type = "UpdateLossScale", .function = UpdateLossScale, .domain = kDomain, .family = "loops"},
};

}  // namespace

absl::Span<const KernelRow> TrainLoopKernels() { return kRows; }

}  // namespace amp
