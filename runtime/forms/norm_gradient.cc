#include "runtime/forms/norm_gradient.h"

#include <algorithm>
#include <numeric>

#include "runtime/kernel/tensor.h"

namespace amp {
namespace {

using Form = NormGradientForm;

Dims AxesFrom(size_t begin, size_t end) {
  Dims axes(end - begin);
  std::iota(axes.begin(), axes.end(), static_cast<int64_t>(begin));
  return axes;
}

// [0, 2, 3, ...]
Dims AllButChannels(size_t rank) {
  Dims axes = AxesFrom(1, rank);
  axes.front() = 0;
  return axes;
}

Dims AxesOf(const KernelContext& context) { return GetInts(context.node(), "axes").value_or(Dims()); }

bool HasAxes(const KernelContext& context, const Dims& axes, const Dims& scale_axes) {
  return GetInts(context.node(), "axes") == axes && GetInts(context.node(), "scale_axes") == scale_axes;
}

Refusal WhyNotRows(const KernelContext& context) {
  const Dims& x = context.Input(Form::kX).dims();
  const size_t first = x.size() - std::min(x.size(), AxesOf(context).size());
  if (!HasAxes(context, AxesFrom(first, x.size()), AxesFrom(0, first))) return "other axes than the last";
  const Dims row(x.begin() + static_cast<std::ptrdiff_t>(first), x.end());
  return context.Input(Form::kScale).dims() == row ? nullptr : "a scale of another shape";
}

// The scale is [C, 1, ...], or [C] if nothing is behind the channels.
Refusal WhyNotChannels(const KernelContext& context) {
  const Tensor& x = context.Input(Form::kX);
  if (x.rank() < 2) return "no channels";
  Dims of_channels(x.rank() - 1, 1);
  of_channels.front() = x.dim(1);
  return context.Input(Form::kScale).dims() == of_channels ? nullptr : "a scale of another shape";
}

Refusal WhyNotBatch(const KernelContext& context) {
  if (const Refusal refusal = WhyNotChannels(context)) return refusal;
  const Dims axes = AllButChannels(context.Input(Form::kX).rank());
  return HasAxes(context, axes, axes) ? nullptr : "other axes than those of batch and space";
}

Refusal WhyNotInstances(const KernelContext& context) {
  if (const Refusal refusal = WhyNotChannels(context)) return refusal;
  const size_t rank = context.Input(Form::kX).rank();
  return HasAxes(context, AxesFrom(2, rank), AllButChannels(rank)) ? nullptr : "other axes than those of space";
}

}  // namespace

float ReadNormGradientEpsilon(const KernelContext& context) { return GetFloat(context.node(), "epsilon", 1e-5f); }

Refusal WhyNotNormGradient(const KernelContext& context, NormGradientForm::Shape shape) {
  if (GetDType(context.node(), "to") != DType::kFloat32) return "another type than float32";
  const Tensor& x = context.Input(Form::kX);
  if (x.num_elements() == 0) return "no elements";
  if (context.Input(Form::kG).dims() != x.dims()) return "a gradient of another shape";
  switch (shape) {
    case Form::Shape::kRows:
      return WhyNotRows(context);
    case Form::Shape::kBatch:
      return WhyNotBatch(context);
    case Form::Shape::kInstances:
      break;
  }
  return WhyNotInstances(context);
}

}  // namespace amp
