#include "runtime/forms/deformable.h"

#include <algorithm>
#include <vector>

#include "ir/base/status.h"
#include "runtime/forms/convolution.h"
#include "runtime/forms/point_taps.h"
#include "runtime/kernel/shape_math.h"

namespace amp {
namespace {

constexpr size_t kMostAxes = 8;  // a point has 2^axes elements around it

// The elements along an axis between which `x` lies, if they are in the image and count. REQUIRES: x > -1.
AxisTaps TapsAround(double x, int64_t size) {
  AxisTaps taps;
  const int64_t low = x < 0 ? -1 : static_cast<int64_t>(x);  // std::floor is a call
  const double fraction = x - static_cast<double>(low);
  if (low >= 0 && fraction != 1) taps.Add(low, 1 - fraction);
  if (low + 1 < size && fraction != 0) taps.Add(low + 1, fraction);
  return taps;
}

// offset or mask: [N, offset groups * taps * `per_tap`, outputs].
absl::Status CheckOffsets(const DeformableForm& form, const Tensor& offsets, size_t per_tap) {
  const size_t numbers = form.offset_groups * NumTaps(form.window) * per_tap;
  const Dims expected = OutputDims(form.window, static_cast<int64_t>(form.batch), static_cast<int64_t>(numbers));
  if (offsets.dims() == expected) return absl::OkStatus();
  return ModelError("expected offsets and mask of ", DimsText(expected), ", found ", DimsText(offsets.dims()));
}

}  // namespace

absl::StatusOr<DeformableForm> ReadDeformable(const KernelContext& context) {
  const Node& node = context.node();
  const Tensor &x = context.Input(kDeformableX), &w = context.Input(kDeformableW);
  AMP_RETURN_IF_ERROR(CheckConvolution(node, x, w));
  AMP_ASSIGN_OR_RETURN(const int64_t group, ReadGroup(node, x.dim(1)));
  const int64_t offset_groups = GetInt(node, "offset_group", 1);
  if (offset_groups < 1 || x.dim(1) % offset_groups != 0) {
    return ModelError("offset_group: expected a divisor of ", x.dim(1), " channels, found ", offset_groups);
  }
  const bool empty = w.num_elements() == 0 || (x.num_elements() == 0 && x.dim(0) != 0);
  if (w.dim(1) != x.dim(1) / group || w.dim(0) % group != 0 || x.rank() > 2 + kMostAxes || empty) {
    return ModelError("expected X [N, C, ..] and W [M, C / group, ..] with elements and at most ", kMostAxes,
                      " further axes, found ", x.TypeText(), " and ", w.TypeText(), " in ", group, " groups");
  }
  DeformableForm form;
  AMP_ASSIGN_OR_RETURN(form.window, SlideWindow(node, SpatialDims(x), SpatialDims(w)));
  form.batch = static_cast<size_t>(x.dim(0));
  form.channels = static_cast<size_t>(x.dim(1));
  form.filters = static_cast<size_t>(w.dim(0));
  form.groups = static_cast<size_t>(group);
  form.offset_groups = static_cast<size_t>(offset_groups);
  form.dims = OutputDims(form.window, x.dim(0), w.dim(0));
  AMP_RETURN_IF_ERROR(CheckOffsets(form, context.Input(kDeformableOffset), form.num_axes()));
  if (context.HasInput(kDeformableMask)) AMP_RETURN_IF_ERROR(CheckOffsets(form, context.Input(kDeformableMask), 1));
  if (context.HasInput(kDeformableBias) && context.Input(kDeformableBias).dims() != Dims{w.dim(0)}) {
    return ModelError("expected a bias [", w.dim(0), "], found ", context.Input(kDeformableBias).TypeText());
  }
  if (std::find(form.dims.begin(), form.dims.end(), 0) != form.dims.end()) return form;
  form.taps = NumTaps(form.window);
  form.positions = NumPositions(form.window);
  form.image_size = static_cast<size_t>(ElementsBetween(x.dims(), 2, x.rank()));
  return form;
}

size_t PositionsAtOnce(const DeformableForm& form) { return PointsAtOnce(form.num_axes(), 2); }

WeightedElements ElementsOfTap(const DeformableForm& form, const double* offsets, size_t tap, size_t first,
                               size_t count) {
  const Window& window = form.window;
  Dims kernel, outputs;
  for (const WindowAxis& axis : window) {
    kernel.push_back(axis.kernel);
    outputs.push_back(axis.output);
  }
  StridedWalk within(kernel, {}), position(outputs, {});
  within.Skip(tap);
  position.Skip(first);
  Dims image;
  for (const WindowAxis& axis : window) image.push_back(axis.input);
  PointElements elements(image, count);
  for (size_t p = first; p < first + count; ++p) {
    bool is_near = true;  // less than one element away from the image
    for (size_t i = 0; i < window.size() && is_near; ++i) {
      const WindowAxis& axis = window[i];
      const int64_t start = position.index()[i] * axis.stride - axis.pad_begin + within.index()[i] * axis.dilation;
      const double x = static_cast<double>(start) + offsets[i * form.positions + p];
      is_near = x > -1 && x < static_cast<double>(axis.input);
      elements.axes()[i] = is_near ? TapsAround(x, axis.input) : AxisTaps();
    }
    elements.Add();
    if (p + 1 < first + count) position.Next();
  }
  return elements.Take();
}

}  // namespace amp
