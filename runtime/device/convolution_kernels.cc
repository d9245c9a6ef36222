// Conv and ConvTranspose of images of up to three axes on a device, by a kernel of our own.
#include <algorithm>

#include "ir/base/status.h"
#include "runtime/device/families.h"
#include "runtime/device/image_axes.h"
#include "runtime/device/raw/convolution.h"
#include "runtime/device/storage.h"
#include "runtime/reference/convolution.h"

namespace amp {
namespace {

constexpr size_t kWeights = 1, kBias = 2;

enum class Kind { kPlain, kTransposed };

template <Kind kKind>
absl::StatusOr<Window> WindowOf(const KernelContext& context) {
  const Tensor &x = context.Input(0), &w = context.Input(kWeights);
  if (kKind == Kind::kTransposed) return SlideWindowOverOutput(context.node(), x, w);
  return SlideWindow(context.node(), SpatialDims(x), SpatialDims(w));
}

// Channels and filters of all groups.
struct Groups {
  int64_t count = 1, channels = 0, filters = 0;
};

template <Kind kKind>
absl::StatusOr<Groups> GroupsOf(const KernelContext& context) {
  const Tensor &x = context.Input(0), &w = context.Input(kWeights);
  Groups groups;
  AMP_ASSIGN_OR_RETURN(groups.count, ReadGroup(context.node(), x.dim(1)));
  groups.channels = x.dim(1);
  groups.filters = kKind == Kind::kTransposed ? w.dim(1) * groups.count : w.dim(0);
  const bool fits = kKind == Kind::kTransposed
                        ? w.dim(0) == groups.channels
                        : w.dim(1) == groups.channels / groups.count && groups.filters % groups.count == 0;
  if (!fits || groups.filters > kMaxElements) return ModelError("groups that do not fit");
  return groups;
}

template <Kind kKind>
const char* WhyNot(const KernelContext& context) {
  const Tensor &x = context.Input(0), &w = context.Input(kWeights);
  if (!IsDeviceFloat(x.dtype())) return kNoDeviceFloat;
  if (w.dtype() != x.dtype()) return "weights of another type";
  if (x.rank() < 3 || x.rank() > 2 + device::kMaxPoolAxes) return "no images of 1 to 3 axes";
  if (x.num_elements() == 0 || w.num_elements() == 0) return "nothing to convolve";
  if (!CheckConvolution(context.node(), x, w).ok() || !GroupsOf<kKind>(context).ok()) return "weights that do not fit";
  const absl::StatusOr<Window> window = WindowOf<kKind>(context);
  if (!window.ok()) return "a window that does not fit";
  if (!std::all_of(window->begin(), window->end(), FitsDeviceAxis)) return "windows that are too large";
  if (!context.HasInput(kBias)) return nullptr;
  const Tensor& bias = context.Input(kBias);
  const bool has_fitting_bias =
      bias.dtype() == x.dtype() && bias.rank() == 1 && bias.dim(0) == GroupsOf<kKind>(context)->filters;
  return has_fitting_bias ? nullptr : "a bias that does not fit";
}

template <Kind kKind>
absl::Status Convolve(KernelContext& context) {
  context.Report("direct convolution", DType::kFloat32);
  const Tensor& x = context.Input(0);
  AMP_ASSIGN_OR_RETURN(const Window window, WindowOf<kKind>(context));
  AMP_ASSIGN_OR_RETURN(const Groups groups, GroupsOf<kKind>(context));
  Dims dims = {x.dim(0), groups.filters};
  for (const WindowAxis& axis : window) dims.push_back(kKind == Kind::kTransposed ? axis.input : axis.output);
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, x.dtype(), std::move(dims)));
  if (y->num_elements() == 0) return absl::OkStatus();
  device::ConvolveArguments convolve = {.x = x.data(),
                                        .w = context.Input(kWeights).data(),
                                        .bias = context.Input(kBias).data(),
                                        .y = y->mutable_data(),
                                        .storage = StorageOf(x.dtype()),
                                        .count = CountOf(*y),
                                        .channels = static_cast<uint32_t>(groups.channels),
                                        .filters = static_cast<uint32_t>(groups.filters),
                                        .group_channels = static_cast<uint32_t>(groups.channels / groups.count),
                                        .group_filters = static_cast<uint32_t>(groups.filters / groups.count),
                                        .is_transposed = kKind == Kind::kTransposed,
                                        .axes = {}};
  SetDeviceAxes(window, convolve.axes);
  context.resources().device->Start(convolve);
  return absl::OkStatus();
}

constexpr KernelRow kRows[] = {
    DeviceRow("Conv", Convolve<Kind::kPlain>, WhyNot<Kind::kPlain>),
    DeviceRow("ConvTranspose", Convolve<Kind::kTransposed>, WhyNot<Kind::kTransposed>),
};

}  // namespace

absl::Span<const KernelRow> ConvolutionDeviceKernels() { return kRows; }

}  // namespace amp
