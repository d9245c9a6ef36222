// Conv and ConvTranspose of images of up to three axes on a device, by a kernel of our own: for what no library takes.
#include "ir/base/status.h"
#include "runtime/device/convolution_shape.h"
#include "runtime/device/families.h"
#include "runtime/device/image_axes.h"
#include "runtime/device/raw/convolution.h"
#include "runtime/device/storage.h"

namespace amp {
namespace {

constexpr size_t kWeights = 1, kBias = 2;

template <ConvolutionKind kKind>
const char* WhyNot(const KernelContext& context) {
  return WhyNotConvolution(context, kKind);
}

template <ConvolutionKind kKind>
absl::Status Convolve(KernelContext& context) {
  context.Report("direct convolution", DType::kFloat32);
  const Tensor& x = context.Input(0);
  AMP_ASSIGN_OR_RETURN(const ConvolutionShape shape, ShapeOfConvolution(context, kKind));
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, x.dtype(), shape.y));
  if (y->num_elements() == 0) return absl::OkStatus();
  device::ConvolveArguments convolve = {.x = x.data(),
                                        .w = context.Input(kWeights).data(),
                                        .bias = context.Input(kBias).data(),
                                        .y = y->mutable_data(),
                                        .storage = StorageOf(x.dtype()),
                                        .count = CountOf(*y),
                                        .channels = static_cast<uint32_t>(shape.channels),
                                        .filters = static_cast<uint32_t>(shape.filters),
                                        .group_channels = static_cast<uint32_t>(shape.channels / shape.groups),
                                        .group_filters = static_cast<uint32_t>(shape.filters / shape.groups),
                                        .is_transposed = kKind == ConvolutionKind::kTransposed,
                                        .axes = {}};
  SetDeviceAxes(shape.window, convolve.axes);
  context.resources().device->Start(convolve);
  return absl::OkStatus();
}

constexpr KernelRow kRows[] = {
    DeviceRow("Conv", Convolve<ConvolutionKind::kPlain>, WhyNot<ConvolutionKind::kPlain>),
    DeviceRow("ConvTranspose", Convolve<ConvolutionKind::kTransposed>, WhyNot<ConvolutionKind::kTransposed>),
};

}  // namespace

absl::Span<const KernelRow> ConvolutionDeviceKernels() { return kRows; }

}  // namespace amp
