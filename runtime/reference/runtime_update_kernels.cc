// The operators of ONNX Runtime's training graphs that accumulate, scale and clip gradients, find values that are not
// finite, and take a step. ONNX Runtime writes into an input's buffer; here the new value is an output, and inputs stay
// as they are.
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "runtime/kernel/shape_math.h"
#include "runtime/reference/accumulator.h"
#include "runtime/reference/float_cells.h"
#include "runtime/reference/training_families.h"

namespace amp {
namespace {

// A truth value at `port`, `absent` where there is none.
absl::StatusOr<bool> Flag(const KernelContext& context, size_t port, bool absent) {
  if (!context.HasInput(port)) return absent;
  const Tensor& flag = context.Input(port);
  if (flag.dtype() == DType::kBool && flag.num_elements() == 1) return flag.elements<bool>()[0];
  return ModelError("input ", port, ": expected one truth value, found ", context.InputDatum(port).TypeText());
}

// The elements of input `port`, as many as `like` has.
absl::StatusOr<std::vector<double>> ReadLike(const KernelContext& context, size_t port, const Tensor& like) {
  if (context.Input(port).dims() == like.dims()) return ReadFloats(context, port);
  return ModelError("input ", port, ": expected shape ", DimsText(like.dims()), ", found ",
                    context.InputDatum(port).TypeText());
}

// ---- accumulation
// -----------------------------------------------------------------------------------------------------

// Inputs: the sum, a value, whether to add it.
absl::Status InPlaceAccumulator(KernelContext& context) {
  const Tensor& sum = context.Input(0);
  AMP_ASSIGN_OR_RETURN(std::vector<double> sums, ReadFloats(context, 0));
  AMP_ASSIGN_OR_RETURN(const std::vector<double> values, ReadLike(context, 1, sum));
  AMP_ASSIGN_OR_RETURN(const bool adds, Flag(context, 2, true));
  for (size_t i = 0; adds && i < sums.size(); ++i) sums[i] += values[i];
  return WriteOutput(context, 0, sum.dtype(), sum.dims(), sums);
}

// Inputs: the sum, a value, whether it replaces the sum. Outputs: true, the new sum.
absl::Status InPlaceAccumulatorV2(KernelContext& context) {
  const Tensor& sum = context.Input(0);
  AMP_ASSIGN_OR_RETURN(std::vector<double> sums, ReadFloats(context, 0));
  AMP_ASSIGN_OR_RETURN(const std::vector<double> values, ReadLike(context, 1, sum));
  AMP_ASSIGN_OR_RETURN(const bool replaces, Flag(context, 2, false));
  for (size_t i = 0; i < sums.size(); ++i) sums[i] = replaces ? values[i] : sums[i] + values[i];
  AMP_ASSIGN_OR_RETURN(Tensor * done, context.MakeOutput(0, DType::kBool, {1}));
  done->mutable_elements<bool>()[0] = true;
  if (!context.HasOutput(1)) return absl::OkStatus();
  return WriteOutput(context, 1, sum.dtype(), sum.dims(), sums);
}

absl::Status ZeroGradient(KernelContext& context) {
  const Tensor& old = context.Input(0);
  return WriteOutput(context, 0, old.dtype(), old.dims(),
                     std::vector<double>(static_cast<size_t>(old.num_elements()), 0.0));
}

// ---- scaling and looking for what is not finite
// -----------------------------------------------------------------------

// Inputs: a tensor, a number to multiply it by, or to divide it by.
absl::Status Scale(KernelContext& context) {
  const Tensor& x = context.Input(0);
  AMP_ASSIGN_OR_RETURN(std::vector<double> values, ReadFloats(context, 0));
  AMP_ASSIGN_OR_RETURN(const double scale, context.InputNumber(1));
  const bool divides = GetInt(context.node(), "scale_down", 0) != 0;
  for (double& value : values) value = divides ? value / scale : value * scale;
  return WriteOutput(context, 0, x.dtype(), x.dims(), values);
}

absl::Status IsAllFinite(KernelContext& context) {
  const bool infinities_alone = GetInt(context.node(), "isinf_only", 0) != 0;
  const bool nan_alone = GetInt(context.node(), "isnan_only", 0) != 0;
  bool all = true;
  for (size_t port = 0; port < context.num_inputs(); ++port) {
    AMP_ASSIGN_OR_RETURN(const std::vector<double> values, ReadFloats(context, port));
    for (const double value : values) {
      const bool is_bad = infinities_alone ? std::isinf(value) : nan_alone ? std::isnan(value) : !std::isfinite(value);
      all = all && !is_bad;
    }
  }
  context.SetOutput(0, Tensor::Scalar(all));
  return absl::OkStatus();
}

// The length of all inputs as one vector.
absl::Status ReduceAllL2(KernelContext& context) {
  double sum = 0;
  for (size_t port = 0; port < context.num_inputs(); ++port) {
    AMP_ASSIGN_OR_RETURN(const std::vector<double> values, ReadFloats(context, port));
    for (const double value : values) sum += value * value;
  }
  return WriteOutput(context, 0, DType::kFloat32, {}, {std::sqrt(sum)});
}

// ---- steps
// ------------------------------------------------------------------------------------------------------------

using Tensors = std::vector<Tensor>;

// The tensors of a sequence, in float64. Errors: something else, or as many as `like` has of other shapes.
absl::StatusOr<Tensors> ReadTensors(const KernelContext& context, size_t port, const Tensors* like) {
  const Sequence* sequence = context.InputDatum(port).sequence();
  if (sequence == nullptr) {
    return ModelError("input ", port, ": expected a sequence of tensors, found ", context.InputDatum(port).TypeText());
  }
  Tensors tensors;
  for (const Datum& element : sequence->elements) {
    if (element.tensor() == nullptr)
      return ModelError("input ", port, ": expected tensors, found ", element.TypeText());
    AMP_ASSIGN_OR_RETURN(tensors.emplace_back(), ToFloat64(*element.tensor()));
    const size_t i = tensors.size() - 1;
    const bool fits = like == nullptr || (i < like->size() && (*like)[i].dims() == tensors[i].dims());
    if (!fits) return ModelError("input ", port, ": expected the shapes of the weights, found ", element.TypeText());
  }
  if (like == nullptr || like->size() == tensors.size()) return tensors;
  return ModelError("input ", port, ": expected ", like->size(), " tensors, found ", tensors.size());
}

// Output `port`: the tensors in the types of those at input `like`.
absl::Status SetTensors(KernelContext& context, size_t port, const Tensors& tensors, size_t like) {
  if (!context.HasOutput(port)) return absl::OkStatus();
  Sequence result;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const DType type = context.InputDatum(like).sequence()->elements[i].tensor()->dtype();
    AMP_ASSIGN_OR_RETURN(Tensor rounded, FromAccumulator(tensors[i], type));
    result.elements.emplace_back(std::move(rounded));
  }
  context.SetOutput(port, std::move(result));
  return absl::OkStatus();
}

// Inputs: the rate, a weight, its gradient. Outputs: the new weight, what it changed by.
absl::Status SgdOptimizer(KernelContext& context) {
  const Tensor& weight = context.Input(1);
  AMP_ASSIGN_OR_RETURN(const double rate, context.InputNumber(0));
  AMP_ASSIGN_OR_RETURN(std::vector<double> weights, ReadFloats(context, 1));
  AMP_ASSIGN_OR_RETURN(std::vector<double> changes, ReadLike(context, 2, weight));
  for (size_t i = 0; i < weights.size(); ++i) weights[i] += changes[i] *= -rate;
  AMP_RETURN_IF_ERROR(WriteOutput(context, 0, weight.dtype(), weight.dims(), weights));
  if (!context.HasOutput(1)) return absl::OkStatus();
  return WriteOutput(context, 1, context.Input(2).dtype(), weight.dims(), changes);
}

// Inputs: the rate, weights, gradients, whether to take the step. Outputs: whether it was taken, the new weights.
absl::Status SgdOptimizerV2(KernelContext& context) {
  AMP_ASSIGN_OR_RETURN(const double rate, context.InputNumber(0));
  AMP_ASSIGN_OR_RETURN(Tensors weights, ReadTensors(context, 1, nullptr));
  AMP_ASSIGN_OR_RETURN(const Tensors gradients, ReadTensors(context, 2, &weights));
  AMP_ASSIGN_OR_RETURN(const bool steps, Flag(context, 3, true));
  for (size_t i = 0; steps && i < weights.size(); ++i) {
    const auto out = weights[i].mutable_elements<double>();
    for (size_t k = 0; k < out.size(); ++k) out[k] -= rate * Doubles(gradients[i])[k];
  }
  context.SetOutput(0, Tensor::Scalar(steps));
  return SetTensors(context, 1, weights, 1);
}

// AdamW in either of two forms: mode 0 decays a weight ahead of the step, as PyTorch does; mode 1 behind it, and
// divides by a root to which epsilon is added before it is corrected, as Hugging Face's Transformers do.
struct AdamW {
  double rate, alpha, beta, epsilon, decay;
  bool decays_first;
  double first_correction = 1, second_correction = 1;  // 1 - alpha^step, 1 - beta^step

  void Step(double g, double& w, double& m, double& v) const {
    m = alpha * m + (1 - alpha) * g;
    v = beta * v + (1 - beta) * g * g;
    if (decays_first) {
      w -= w * rate * decay;
      w -= rate / first_correction * m / (std::sqrt(v / second_correction) + epsilon);
    } else {
      w -= rate * std::sqrt(second_correction) / first_correction * m / (std::sqrt(v) + epsilon);
      w -= w * rate * decay;
    }
  }
};

absl::StatusOr<AdamW> ReadAdamW(const KernelContext& context) {
  const Node& node = context.node();
  const int64_t mode = GetInt(node, "adam_mode", 0);
  if (mode != 0 && mode != 1) return ModelError("adam_mode: expected 0 or 1, found ", mode);
  AMP_ASSIGN_OR_RETURN(const double rate, context.InputNumber(0));
  AMP_ASSIGN_OR_RETURN(const double count, context.InputNumber(1));
  AdamW step{.rate = rate,
             .alpha = GetFloat(node, "alpha", 0.9f),
             .beta = GetFloat(node, "beta", 0.999f),
             .epsilon = GetFloat(node, "epsilon", 1e-8f),
             .decay = GetFloat(node, "weight_decay", 1e-2f),
             .decays_first = mode == 0};
  if (GetInt(node, "correct_bias", 1) == 0) return step;
  step.first_correction = 1 - std::pow(step.alpha, count);
  step.second_correction = 1 - std::pow(step.beta, count);
  return step;
}

// Inputs: the rate, the number of this step, weights, gradients, both memories, whether to take the step. Outputs:
// whether it was taken, the new weights and memories.
absl::Status AdamWOptimizer(KernelContext& context) {
  AMP_ASSIGN_OR_RETURN(const AdamW step, ReadAdamW(context));
  AMP_ASSIGN_OR_RETURN(Tensors weights, ReadTensors(context, 2, nullptr));
  AMP_ASSIGN_OR_RETURN(const Tensors gradients, ReadTensors(context, 3, &weights));
  AMP_ASSIGN_OR_RETURN(Tensors first, ReadTensors(context, 4, &weights));
  AMP_ASSIGN_OR_RETURN(Tensors second, ReadTensors(context, 5, &weights));
  AMP_ASSIGN_OR_RETURN(const bool steps, Flag(context, 6, true));
  for (size_t i = 0; steps && i < weights.size(); ++i) {
    const auto w = weights[i].mutable_elements<double>(), m = first[i].mutable_elements<double>(),
               v = second[i].mutable_elements<double>();
    for (size_t k = 0; k < w.size(); ++k) step.Step(Doubles(gradients[i])[k], w[k], m[k], v[k]);
  }
  context.SetOutput(0, Tensor::Scalar(int64_t{steps ? 1 : 0}));
  AMP_RETURN_IF_ERROR(SetTensors(context, 1, weights, 2));
  AMP_RETURN_IF_ERROR(SetTensors(context, 2, first, 4));
  return SetTensors(context, 3, second, 5);
}

// Gradients as they are, or, where all of them as one vector are longer than max_norm, of that length.
absl::Status InplaceClipGradNorm(KernelContext& context) {
  constexpr double kEpsilon = 1e-6;
  AMP_ASSIGN_OR_RETURN(Tensors gradients, ReadTensors(context, 0, nullptr));
  const std::string norm = GetString(context.node(), "norm_type", "fro");
  if (norm != "fro") return ModelError("norm_type: expected fro, found '", Escaped(norm), "'");
  double sum = 0;
  for (const Tensor& gradient : gradients) {
    for (const double value : Doubles(gradient)) sum += value * value;
  }
  const double factor = GetFloat(context.node(), "max_norm", 1) / (std::sqrt(sum) + kEpsilon);
  for (Tensor& gradient : gradients) {
    for (double& value : gradient.mutable_elements<double>()) value *= std::min(1.0, factor);
  }
  return SetTensors(context, 0, gradients, 0);
}

// ---- order
// ------------------------------------------------------------------------------------------------------------

// True once all inputs are there.
absl::Status Group(KernelContext& context) {
  context.SetOutput(0, Tensor::Scalar(true));
  return absl::OkStatus();
}

absl::Status PassThrough(KernelContext& context) {
  for (size_t i = 0; i < context.num_outputs(); ++i) context.SetOutput(i, context.InputDatum(i));
  return absl::OkStatus();
}

constexpr absl::string_view kDomain = "com.microsoft";
constexpr KernelRow kRows[] = {
    {"InPlaceAccumulator", InPlaceAccumulator, kDomain},
    {"InPlaceAccumulatorV2", InPlaceAccumulatorV2, kDomain},
    {"ZeroGradient", ZeroGradient, kDomain},
    {"Scale", Scale, kDomain},
    {"IsAllFinite", IsAllFinite, kDomain},
    {"ReduceAllL2", ReduceAllL2, kDomain},
    {"SGDOptimizer", SgdOptimizer, kDomain},
    {"SGDOptimizerV2", SgdOptimizerV2, kDomain},
    {"AdamWOptimizer", AdamWOptimizer, kDomain},
    {"InplaceClipGradNorm", InplaceClipGradNorm, kDomain},
    {"Group", Group, kDomain},
    {"PassThrough", PassThrough, kDomain},
};

}  // namespace

absl::Span<const KernelRow> RuntimeUpdateKernels() { return kRows; }

}  // namespace amp
