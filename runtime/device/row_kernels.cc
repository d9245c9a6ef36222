// Softmax and norms on a device: operators that compute statistics of rows.
#include <algorithm>
#include <string>

#include "ir/base/status.h"
#include "runtime/device/families.h"
#include "runtime/device/raw/rows.h"
#include "runtime/device/split_rows.h"
#include "runtime/device/storage.h"
#include "runtime/forms/norm.h"
#include "runtime/forms/softmax.h"
#include "runtime/kernel/shape_math.h"

namespace amp {
namespace {

// ---- softmax --------------------------------------------------------------------------------------------------------

Refusal WhyNotSoftmax(const KernelContext& context) {
  if (!IsDeviceFloat(context.Input(0).dtype())) return kNoDeviceFloat;
  return ReadSoftmax(context).ok() ? nullptr : "an axis that the input does not have";
}

enum class Scale { kPlain, kLogarithm };

template <Scale kScale>
absl::Status Softmax(KernelContext& context) {
  context.Report("softmax", DType::kFloat32);
  const Dims dims = context.Input(0).dims();
  AMP_ASSIGN_OR_RETURN(const SoftmaxForm form, ReadSoftmax(context));
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, context.Input(0).dtype(), dims));
  if (y->num_elements() == 0) return absl::OkStatus();
  const AxisView view = form.View(dims);
  return StartRows(context, device::SoftmaxArguments{.x = context.Input(0).data(),
                                                     .y = y->mutable_data(),
                                                     .storage = StorageOf(y->dtype()),
                                                     .rows = static_cast<uint32_t>(view.rows()),
                                                     .size = static_cast<uint32_t>(view.size),
                                                     .inner = static_cast<uint32_t>(view.inner),
                                                     .is_log = kScale == Scale::kLogarithm});
}

// ---- layer norms ----------------------------------------------------------------------------------------------------

constexpr size_t kScalePort = 1, kBiasPort = 2;

absl::Span<const int64_t> WithoutLeadingOnes(absl::Span<const int64_t> dims) {
  while (!dims.empty() && dims[0] == 1) dims.remove_prefix(1);
  return dims;
}

Refusal WhyNotLayer(const KernelContext& context) {
  const Tensor& x = context.Input(0);
  const absl::StatusOr<LayerNormForm> form = ReadLayerNorm(context);
  if (!form.ok() || x.num_elements() == 0) return "nothing to normalize";
  if (!IsDeviceFloat(x.dtype())) return kNoDeviceFloat;
  if (form->stash_type != DType::kFloat32) return "statistics of another type than float32";
  const absl::Span<const int64_t> row = WithoutLeadingOnes(absl::MakeConstSpan(x.dims()).subspan(form->axis));
  for (const size_t port : {kScalePort, kBiasPort}) {
    if (!context.HasInput(port)) continue;
    const Tensor& operand = context.Input(port);
    if (!IsDeviceFloat(operand.dtype())) return kNoDeviceFloat;
    if (operand.rank() > x.rank() || WithoutLeadingOnes(operand.dims()) != row) return "an operand of another shape";
  }
  return context.HasInput(kScalePort) ? nullptr : "no scale";
}

// Returns the float32 elements of output `port`; null if nobody reads it.
absl::StatusOr<float*> MakeStatistics(KernelContext& context, size_t port, const Dims& dims) {
  if (!context.HasOutput(port)) return nullptr;
  AMP_ASSIGN_OR_RETURN(Tensor * statistics, context.MakeOutput(port, DType::kFloat32, dims));
  return static_cast<float*>(statistics->mutable_data());
}

// Sets scale and bias if the inputs are present.
void SetOperands(const KernelContext& context, device::NormalizeArguments& norm) {
  norm.scale = context.Input(kScalePort).data();
  norm.scale_storage = StorageOf(context.Input(kScalePort).dtype());
  norm.bias = context.Input(kBiasPort).data();
  norm.bias_storage = StorageOf(context.Input(kBiasPort).dtype());
}

enum class Centre { kMean, kZero };

template <Centre kCentre>
absl::Status LayerNorm(KernelContext& context) {
  context.Report("normalize", DType::kFloat32);
  const Tensor& x = context.Input(0);
  AMP_ASSIGN_OR_RETURN(const LayerNormForm form, ReadLayerNorm(context));
  Dims statistics = x.dims();
  std::fill(statistics.begin() + static_cast<std::ptrdiff_t>(form.axis), statistics.end(), 1);
  const bool is_centred = kCentre == Centre::kMean;
  device::NormalizeArguments norm = {};
  if (is_centred) {
    AMP_ASSIGN_OR_RETURN(norm.mean, MakeStatistics(context, 1, statistics));
  }
  AMP_ASSIGN_OR_RETURN(norm.inverse_deviation, MakeStatistics(context, is_centred ? 2 : 1, statistics));
  const DType stored_as = is_centred ? x.dtype() : context.Input(kScalePort).dtype();
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, stored_as, x.dims()));
  SetOperands(context, norm);
  const int64_t size = ElementsBetween(x.dims(), form.axis, x.rank());
  norm.x = x.data();
  norm.y = y->mutable_data();
  norm.x_storage = StorageOf(x.dtype());
  norm.y_storage = StorageOf(stored_as);
  norm.rows = static_cast<uint32_t>(x.num_elements() / size);
  norm.size = static_cast<uint32_t>(size);
  norm.row_period = norm.operand_run = 1;
  norm.is_centred = is_centred;
  norm.epsilon = form.epsilon;
  return StartRows(context, norm);
}

// ---- norms of groups of channels, and by given statistics -----------------------------------------------------------

Refusal WhyNotChannels(const KernelContext& context, size_t last) {
  const Tensor& x = context.Input(0);
  if (!IsDeviceFloat(x.dtype())) return kNoDeviceFloat;
  if (x.rank() < 2 || x.num_elements() == 0) return "no channels";
  for (size_t port = 1; port <= last; ++port) {
    const Tensor& operand = context.Input(port);
    if (!IsDeviceFloat(operand.dtype())) return kNoDeviceFloat;
    if (operand.num_elements() != x.dim(1)) return "another number of operands than channels";
  }
  return {};
}

Refusal WhyNotGroups(const KernelContext& context) {
  const GroupNormForm form = ReadGroupNorm(context);
  if (form.has_scale_of_group) return "a scale for each group";
  const Tensor& x = context.Input(0);
  if (form.groups < 1 || x.rank() < 2 || x.dim(1) % form.groups != 0) return "groups that do not fit";
  return WhyNotChannels(context, kBiasPort);
}

absl::Status GroupNorm(KernelContext& context) {
  context.Report("normalize", DType::kFloat32);
  const Tensor& x = context.Input(0);
  const GroupNormForm form = ReadGroupNorm(context);
  const int64_t rows = x.dim(0) * form.groups, channels = x.dim(1) / form.groups;
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, x.dtype(), x.dims()));
  device::NormalizeArguments norm = {};
  SetOperands(context, norm);
  norm.x = x.data();
  norm.y = y->mutable_data();
  norm.x_storage = norm.y_storage = StorageOf(x.dtype());
  norm.rows = static_cast<uint32_t>(rows);
  norm.size = static_cast<uint32_t>(x.num_elements() / rows);
  norm.row_period = static_cast<uint32_t>(form.groups);
  norm.operands_per_row = static_cast<uint32_t>(channels);
  norm.operand_run = static_cast<uint32_t>(ElementsBetween(x.dims(), 2, x.rank()));
  norm.is_centred = true;
  norm.epsilon = form.epsilon;
  return StartRows(context, norm);
}

Refusal WhyNotBatch(const KernelContext& context) {
  const bool has_statistics =
      context.HasOutput(1) || context.HasOutput(2) || context.HasOutput(3) || context.HasOutput(4);
  const BatchNormForm form = ReadBatchNorm(context);
  if (form.trains || has_statistics) return "training";
  if (!form.is_per_channel) return "statistics for each place";
  return WhyNotChannels(context, 4);
}

absl::Status BatchNorm(KernelContext& context) {
  context.Report("normalize channels", DType::kFloat32);
  const Tensor& x = context.Input(0);
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, x.dtype(), x.dims()));
  context.resources().device->Start(
      device::NormalizeChannelsArguments{.x = x.data(),
                                         .scale = context.Input(1).data(),
                                         .bias = context.Input(2).data(),
                                         .mean = context.Input(3).data(),
                                         .variance = context.Input(4).data(),
                                         .y = y->mutable_data(),
                                         .storage = StorageOf(x.dtype()),
                                         .scale_storage = StorageOf(context.Input(1).dtype()),
                                         .bias_storage = StorageOf(context.Input(2).dtype()),
                                         .mean_storage = StorageOf(context.Input(3).dtype()),
                                         .variance_storage = StorageOf(context.Input(4).dtype()),
                                         .count = CountOf(x),
                                         .channels = static_cast<uint32_t>(x.dim(1)),
                                         .pixels = static_cast<uint32_t>(ElementsBetween(x.dims(), 2, x.rank())),
                                         .epsilon = ReadBatchNorm(context).epsilon});
  return absl::OkStatus();
}

constexpr KernelRow kRows[] = {
    DeviceRow("Softmax", Softmax<Scale::kPlain>, WhyNotSoftmax),
    DeviceRow("LogSoftmax", Softmax<Scale::kLogarithm>, WhyNotSoftmax),
    DeviceRow("LayerNormalization", LayerNorm<Centre::kMean>, WhyNotLayer),
    DeviceRow("RMSNormalization", LayerNorm<Centre::kZero>, WhyNotLayer),
    DeviceRow("SimplifiedLayerNormalization", LayerNorm<Centre::kZero>, WhyNotLayer),
    DeviceRow("InstanceNormalization", GroupNorm, WhyNotGroups),
    DeviceRow("GroupNormalization", GroupNorm, WhyNotGroups),
    DeviceRow("BatchNormalization", BatchNorm, WhyNotBatch),
};

}  // namespace

absl::Span<const KernelRow> RowDeviceKernels() { return kRows; }

}  // namespace amp
