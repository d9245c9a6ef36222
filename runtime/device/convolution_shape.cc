#include "runtime/device/convolution_shape.h"

#include <algorithm>

#include "ir/base/status.h"
#include "runtime/device/image_axes.h"
#include "runtime/device/storage.h"
#include "runtime/forms/convolution.h"
#include "runtime/kernel/stated_epilogue.h"

namespace amp {
namespace {

constexpr size_t kWeights = 1, kBias = 2;

absl::StatusOr<Window> WindowOf(const Node& node, const Tensor& x, const Tensor& w, ConvolutionKind kind) {
  if (kind == ConvolutionKind::kTransposed) return SlideWindowOverOutput(node, x, w);
  return SlideWindow(node, SpatialDims(x), SpatialDims(w));
}

Dims DimsOfResult(const ConvolutionShape& shape, int64_t batch, ConvolutionKind kind) {
  if (kind == ConvolutionKind::kPlain) return OutputDims(shape.window, batch, shape.filters);
  Dims dims = {batch, shape.filters};
  for (const WindowAxis& axis : shape.window) dims.push_back(axis.input);
  return dims;
}

}  // namespace

absl::StatusOr<ConvolutionShape> ShapeOfConvolution(const Node& node, const Tensor& x, const Tensor& w,
                                                    ConvolutionKind kind) {
  AMP_RETURN_IF_ERROR(CheckConvolution(node, x, w));
  ConvolutionShape shape;
  AMP_ASSIGN_OR_RETURN(shape.groups, ReadGroup(node, x.dim(1)));
  shape.channels = x.dim(1);
  shape.filters = kind == ConvolutionKind::kTransposed ? w.dim(1) * shape.groups : w.dim(0);
  const bool fits = kind == ConvolutionKind::kTransposed
                        ? w.dim(0) == shape.channels
                        : w.dim(1) == shape.channels / shape.groups && shape.filters % shape.groups == 0;
  if (!fits || shape.filters > kMaxElements) return ModelError("groups that do not fit");
  AMP_ASSIGN_OR_RETURN(shape.window, WindowOf(node, x, w, kind));
  shape.y = DimsOfResult(shape, x.dim(0), kind);
  return shape;
}

absl::StatusOr<ConvolutionShape> ShapeOfConvolution(const KernelContext& context, ConvolutionKind kind) {
  return ShapeOfConvolution(context.node(), context.Input(0), context.Input(kWeights), kind);
}

Refusal WhyNotConvolution(const KernelContext& context, ConvolutionKind kind) {
  const Tensor &x = context.Input(0), &w = context.Input(kWeights);
  if (!IsDeviceFloat(x.dtype())) return kNoDeviceFloat;
  if (w.dtype() != x.dtype()) return "weights of another type";
  if (x.rank() < 3 || x.rank() > 2 + device::kMaxPoolAxes) return "no images of 1 to 3 axes";
  if (x.num_elements() == 0 || w.num_elements() == 0) return "nothing to convolve";
  const absl::StatusOr<ConvolutionShape> shape = ShapeOfConvolution(context, kind);
  if (!shape.ok()) return "weights or a window that do not fit";
  if (!std::all_of(shape->window.begin(), shape->window.end(), FitsDeviceAxis)) return "windows that are too large";
  if (!context.HasInput(kBias)) return {};
  const Tensor& bias = context.Input(kBias);
  const bool has_fitting_bias = bias.dtype() == x.dtype() && bias.rank() == 1 && bias.dim(0) == shape->filters;
  return has_fitting_bias ? nullptr : "a bias that does not fit";
}

Refusal WhyNotStated(const KernelContext& context, const Dims& y) {
  if (!StepOfActivation(context.node()).has_value()) return "an activation that no device has";
  if (!context.HasInput(kFusedAddend)) return {};
  const Tensor& addend = context.Input(kFusedAddend);
  return addend.dtype() == context.Input(0).dtype() && addend.dims() == y ? nullptr : "a Z that does not fit";
}

}  // namespace amp
