// Resize, Upsample and LRN on a device. Nearest resizing only moves elements. Linear and cubic resizing computes
// weighted sums along one axis after another, in float32 between two axes.
#include <algorithm>
#include <utility>
#include <vector>

#include "ir/base/status.h"
#include "runtime/device/families.h"
#include "runtime/device/raw/images.h"
#include "runtime/device/storage.h"
#include "runtime/forms/norm.h"
#include "runtime/forms/resampling.h"
#include "runtime/kernel/shape_math.h"
#include "runtime/reference/reference_kernels.h"

namespace amp {
namespace {

// ---- Resize, Upsample -----------------------------------------------------------------------------------------------

using Read = absl::StatusOr<Resampling> (*)(const KernelContext&);

template <Read kRead>
Refusal WhyNotResize(const KernelContext& context) {
  const Tensor& x = context.Input(0);
  if (x.rank() > device::kMaxAxes) return kTooManyAxes;
  if (x.num_elements() == 0) return "no elements";
  const absl::StatusOr<Resampling> resampling = kRead(context);
  if (!resampling.ok()) return "what does not fit";
  if (resampling->options.coordinates == Coordinates::kTfCropAndResize) return "values beyond the input";
  const Dims dims = resampling->OutputDims();
  if (std::count(dims.begin(), dims.end(), 0) > 0) return "no elements";
  if (resampling->options.interpolation != Interpolation::kNearest) {
    return IsDeviceFloat(x.dtype()) ? nullptr : kNoDeviceFloat;
  }
  const size_t bytes = x.dtype() == DType::kString ? 0 : ElementBytes(x.dtype());
  return bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8 ? nullptr : "elements of another size";
}

// The weighted sums along one axis whose size changes.
struct AxisSums {
  size_t axis;
  int64_t out;
  std::vector<uint32_t> begins;
  std::vector<device::WeightedPlace> terms;
};

std::vector<AxisSums> SumsOf(const Resampling& resampling) {
  std::vector<AxisSums> all;
  for (const size_t at : resampling.BestOrder()) {
    const ResampledAxis& axis = resampling.axes[at];
    const std::vector<double> positions = SourcePositions(axis, resampling.options);
    if (IsIdentity(axis, positions)) continue;
    const WeightedElements weights = InterpolationWeights(axis, positions, resampling.options);
    AxisSums& sums = all.emplace_back(AxisSums{.axis = at, .out = axis.out, .begins = {}, .terms = {}});
    sums.begins.assign(weights.begin.begin(), weights.begin.end());
    for (size_t i = 0; i < weights.weight.size(); ++i) {
      sums.terms.push_back(
          {.element = static_cast<uint32_t>(weights.element[i]), .weight = static_cast<float>(weights.weight[i])});
    }
  }
  return all;
}

// REQUIRES: y has the dims of x, except along the axis.
absl::Status ResampleAxis(Accelerator& device, const AxisSums& sums, const Tensor& x, Tensor& y) {
  const std::shared_ptr<const void> begins = device.Share(sums.begins), terms = device.Share(sums.terms);
  AMP_RETURN_IF_ERROR(device.Status());
  const AxisView view(x.dims(), sums.axis);
  device.Start(device::ResampleArguments{.x = x.data(),
                                         .y = y.mutable_data(),
                                         .x_storage = StorageOf(x.dtype()),
                                         .y_storage = StorageOf(y.dtype()),
                                         .count = CountOf(y),
                                         .in = static_cast<uint32_t>(view.size),
                                         .out = static_cast<uint32_t>(sums.out),
                                         .inner = static_cast<uint32_t>(view.inner),
                                         .begins = static_cast<const uint32_t*>(begins.get()),
                                         .terms = static_cast<const device::WeightedPlace*>(terms.get())});
  return absl::OkStatus();
}

absl::Status Interpolate(KernelContext& context, const Resampling& resampling) {
  context.Report("resample", DType::kFloat32);
  Tensor stage = context.Input(0);
  const DType dtype = stage.dtype();
  const std::vector<AxisSums> all = SumsOf(resampling);
  if (all.empty()) {
    context.SetOutput(0, stage);
    return absl::OkStatus();
  }
  for (const AxisSums& sums : all) {
    Dims dims = stage.dims();
    dims[sums.axis] = sums.out;
    const bool is_last = &sums == &all.back();
    AMP_ASSIGN_OR_RETURN(Tensor next, Tensor::Create(is_last ? dtype : DType::kFloat32, dims, context.memory()));
    AMP_RETURN_IF_ERROR(ResampleAxis(*context.resources().device, sums, stage, next));
    stage = std::move(next);
  }
  context.SetOutput(0, std::move(stage));
  return absl::OkStatus();
}

template <Read kRead>
absl::Status Resize(KernelContext& context) {
  AMP_ASSIGN_OR_RETURN(const Resampling resampling, kRead(context));
  if (resampling.options.interpolation != Interpolation::kNearest) return Interpolate(context, resampling);
  context.Report("move", context.Input(0).dtype());
  const Node& node = context.node();
  return FindReferenceKernels(node.domain(), node.op_type(), context.version())[0]->function(context);
}

// ---- LRN ------------------------------------------------------------------------------------------------------------

Refusal WhyNotNeighbours(const KernelContext& context) {
  const Tensor& x = context.Input(0);
  if (!IsDeviceFloat(x.dtype())) return kNoDeviceFloat;
  if (x.rank() < 2 || x.num_elements() == 0) return "no channels";
  return ReadNeighbourNorm(context.node()).ok() ? nullptr : "no neighbours";
}

absl::Status NormalizeNeighbours(KernelContext& context) {
  context.Report("normalize neighbours", DType::kFloat32);
  const Tensor& x = context.Input(0);
  AMP_ASSIGN_OR_RETURN(const NeighbourNormForm form, ReadNeighbourNorm(context.node()));
  const int64_t size = std::min(form.size, 2 * x.dim(1));
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, x.dtype(), x.dims()));
  context.resources().device->Start(
      device::NormalizeNeighboursArguments{.x = x.data(),
                                           .y = y->mutable_data(),
                                           .storage = StorageOf(x.dtype()),
                                           .count = CountOf(x),
                                           .channels = static_cast<uint32_t>(x.dim(1)),
                                           .pixels = static_cast<uint32_t>(ElementsBetween(x.dims(), 2, x.rank())),
                                           .before = static_cast<uint32_t>((size - 1) / 2),
                                           .after = static_cast<uint32_t>(size / 2),
                                           .alpha = form.alpha / static_cast<float>(form.size),
                                           .beta = form.beta,
                                           .bias = form.bias});
  return absl::OkStatus();
}

constexpr KernelRow kRows[] = {
    DeviceRow("Resize", Resize<ReadResize>, WhyNotResize<ReadResize>, {1, 2, 3}),
    DeviceRow("Upsample", Resize<ReadUpsample>, WhyNotResize<ReadUpsample>, {1}),
    DeviceRow("LRN", NormalizeNeighbours, WhyNotNeighbours),
};

}  // namespace

absl::Span<const KernelRow> ImageDeviceKernels() { return kRows; }

}  // namespace amp
