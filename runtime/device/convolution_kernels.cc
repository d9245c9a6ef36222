// Conv, ConvTranspose and FusedConv of images of up to three axes on a device, by a kernel of this project, if no
// library takes them.
#include <algorithm>
#include <vector>

#include "ir/base/status.h"
#include "runtime/device/convolution_shape.h"
#include "runtime/device/epilogue_steps.h"
#include "runtime/device/families.h"
#include "runtime/device/image_axes.h"
#include "runtime/device/raw/convolution.h"
#include "runtime/device/storage.h"
#include "runtime/kernel/stated_epilogue.h"

namespace amp {
namespace {

constexpr size_t kWeights = 1, kBias = 2;

DType StoredType(const KernelContext& context) {
  const DType stored = context.epilogue().stores_as;
  return stored == DType::kUndefined ? context.Input(0).dtype() : stored;
}

// Fused nodes are taken only with depthwise convolutions. With others they run one by one, as the library may then
// compute the convolution alone.
template <ConvolutionKind kKind>
Refusal WhyNot(const KernelContext& context) {
  if (const Refusal refusal = WhyNotConvolution(context, kKind)) return refusal;
  const std::vector<EpilogueStep>& steps = context.epilogue().steps;
  if (steps.empty() && StoredType(context) == context.Input(0).dtype()) return {};
  const ConvolutionShape shape = *ShapeOfConvolution(context, kKind);
  if (!shape.IsDepthwise()) return "nodes behind it, which the library may leave out";
  if (!IsDeviceFloat(StoredType(context))) return kNoDeviceFloat;
  if (steps.size() > device::kMaxResultSteps) return "too much behind it";
  const bool fits = std::all_of(steps.begin(), steps.end(), [&](const EpilogueStep& step) {
    return ResultStepOf(context, step, shape.y).has_value();
  });
  return fits ? nullptr : "an operand behind it that does not fit";
}

Refusal WhyNotFused(const KernelContext& context) {
  if (const Refusal refusal = WhyNotConvolution(context, ConvolutionKind::kPlain)) return refusal;
  return WhyNotStated(context, ShapeOfConvolution(context, ConvolutionKind::kPlain)->y);
}

template <ConvolutionKind kKind>
absl::Status Convolve(KernelContext& context) {
  context.Report("direct convolution", DType::kFloat32);
  const Tensor& x = context.Input(0);
  AMP_ASSIGN_OR_RETURN(const ConvolutionShape shape, ShapeOfConvolution(context, kKind));
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, StoredType(context), shape.y));
  if (y->num_elements() == 0) return absl::OkStatus();
  device::ConvolveArguments convolve = {.x = x.data(),
                                        .w = context.Input(kWeights).data(),
                                        .bias = context.Input(kBias).data(),
                                        .y = y->mutable_data(),
                                        .storage = StorageOf(x.dtype()),
                                        .stored_as = StorageOf(y->dtype()),
                                        .count = CountOf(*y),
                                        .channels = static_cast<uint32_t>(shape.channels),
                                        .filters = static_cast<uint32_t>(shape.filters),
                                        .group_channels = static_cast<uint32_t>(shape.channels / shape.groups),
                                        .group_filters = static_cast<uint32_t>(shape.filters / shape.groups),
                                        .is_transposed = kKind == ConvolutionKind::kTransposed,
                                        .axes = {}};
  SetDeviceAxes(shape.window, convolve.axes);
  for (const EpilogueStep& step : StepsOf(context)) {
    convolve.steps[convolve.num_steps++] = *ResultStepOf(context, step, shape.y);
  }
  Accelerator& device = *context.resources().device;
  device.Start(convolve);
  if (!shape.IsDepthwise()) device.NoteDirectConvolution(x.dtype());
  return absl::OkStatus();
}

template <ConvolutionKind kKind>
constexpr KernelRow Row(absl::string_view op_type) {
  KernelRow row = DeviceRow(op_type, Convolve<kKind>, WhyNot<kKind>);
  row.takes_epilogue = true;
  return row;
}
constexpr KernelRow kRows[] = {
    Row<ConvolutionKind::kPlain>("Conv"), Row<ConvolutionKind::kTransposed>("ConvTranspose"),
    DeviceRow("FusedConv", Convolve<ConvolutionKind::kPlain>, WhyNotFused, {}, "com.microsoft")};

}  // namespace

absl::Span<const KernelRow> ConvolutionDeviceKernels() { return kRows; }

}  // namespace amp
