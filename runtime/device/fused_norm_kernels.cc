#include "runtime/device/fused_norm_kernels.h"

#include "ir/base/status.h"
#include "runtime/device/raw/rows.h"
#include "runtime/device/split_rows.h"
#include "runtime/device/storage.h"
#include "runtime/kernel/shape_math.h"
#include "runtime/loops/fused_norms.h"

namespace amp {
namespace {

constexpr size_t kScale = 1, kShift = 2;

const NormForm& FormOf(KernelContext& context) { return context.State<NormForm>(); }

constexpr char kOtherRank[] = "an input of another rank";

absl::Span<const int64_t> WithoutLeadingOnes(absl::Span<const int64_t> dims) {
  while (!dims.empty() && dims[0] == 1) dims.remove_prefix(1);
  return dims;
}

// ---- norms ----------------------------------------------------------------------------------------------------------

// `fits`: whether a scale or shift has fitting dims.
template <typename Fits>
Refusal WhyNotNorm(const KernelContext& context, const NormForm& form, Fits fits) {
  const Tensor& x = context.Input(0);
  if (!IsDeviceFloat(x.dtype()) || !IsDeviceFloat(form.stored_as)) return kNoDeviceFloat;
  if (x.num_elements() == 0) return "nothing to normalize";
  for (const size_t port : {kScale, kShift}) {
    if (!context.HasInput(port)) continue;
    if (!IsDeviceFloat(context.Input(port).dtype())) return kNoDeviceFloat;
    if (!fits(context.Input(port))) return "an operand of another shape";
  }
  return {};
}

// Returns arguments for rows of `size` elements of x, each with its scale and shift.
absl::StatusOr<device::NormalizeArguments> StartOf(KernelContext& context, const NormForm& form, int64_t size) {
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, form.stored_as, context.Input(0).dims()));
  const Tensor &x = context.Input(0), &scale = context.Input(kScale), &shift = context.Input(kShift);
  return device::NormalizeArguments{.x = x.data(),
                                    .scale = scale.data(),
                                    .bias = shift.data(),
                                    .y = y->mutable_data(),
                                    .mean = nullptr,
                                    .inverse_deviation = nullptr,
                                    .x_storage = StorageOf(x.dtype()),
                                    .scale_storage = StorageOf(scale.dtype()),
                                    .bias_storage = StorageOf(shift.dtype()),
                                    .y_storage = StorageOf(form.stored_as),
                                    .rows = static_cast<uint32_t>(x.num_elements() / size),
                                    .size = static_cast<uint32_t>(size),
                                    .row_period = 1,
                                    .operands_per_row = 0,
                                    .operand_run = 1,
                                    .is_centred = form.kind != PatternKind::kRmsNorm,
                                    .epsilon = static_cast<float>(form.epsilon)};
}

absl::Status NormalizeLastAxes(KernelContext& context) {
  const NormForm& form = FormOf(context);
  const Tensor& x = context.Input(0);
  if (x.rank() < form.num_axes) return Refusal(kOtherRank);
  const size_t axis = x.rank() - form.num_axes;
  const absl::Span<const int64_t> row = WithoutLeadingOnes(absl::MakeConstSpan(x.dims()).subspan(axis));
  const Refusal refusal = WhyNotNorm(context, form, [&](const Tensor& operand) {
    return operand.rank() <= x.rank() && WithoutLeadingOnes(operand.dims()) == row;
  });
  if (refusal) return refusal;
  AMP_ASSIGN_OR_RETURN(const device::NormalizeArguments norm,
                       StartOf(context, form, ElementsBetween(x.dims(), axis, x.rank())));
  context.Report("normalize", DType::kFloat32);
  return StartRows(context, norm);
}

absl::Status NormalizeChannels(KernelContext& context) {
  const NormForm& form = FormOf(context);
  const Tensor& x = context.Input(0);
  const bool is_of_channels = form.kind == PatternKind::kInstanceNorm;
  if (x.rank() < 2 || (is_of_channels && x.rank() != form.num_axes + 2)) return Refusal(kOtherRank);
  const int64_t groups = is_of_channels ? x.dim(1) : form.groups;
  if (groups < 1 || x.dim(1) % groups != 0) return Refusal("groups that do not fit");
  const Refusal refusal =
      WhyNotNorm(context, form, [&](const Tensor& operand) { return operand.num_elements() == x.dim(1); });
  if (refusal) return refusal;
  AMP_ASSIGN_OR_RETURN(device::NormalizeArguments norm, StartOf(context, form, x.num_elements() / (x.dim(0) * groups)));
  norm.row_period = static_cast<uint32_t>(groups);
  norm.operands_per_row = static_cast<uint32_t>(x.dim(1) / groups);
  norm.operand_run = static_cast<uint32_t>(ElementsBetween(x.dims(), 2, x.rank()));
  context.Report("normalize", DType::kFloat32);
  return StartRows(context, norm);
}

// ---- softmax --------------------------------------------------------------------------------------------------------

absl::Status NormalizeExponentials(KernelContext& context) {
  const NormForm& form = FormOf(context);
  const Dims dims = context.Input(0).dims();
  const DType dtype = context.Input(0).dtype();
  if (!IsDeviceFloat(dtype) || dtype != form.stored_as) return Refusal(kNoDeviceFloat);
  if (dims.size() < form.num_axes) return Refusal(kOtherRank);
  const AxisView view(dims, dims.size() - form.num_axes);
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, dtype, dims));
  if (y->num_elements() == 0) return absl::OkStatus();
  context.Report("softmax", DType::kFloat32);
  return StartRows(context, device::SoftmaxArguments{.x = context.Input(0).data(),
                                                     .y = y->mutable_data(),
                                                     .storage = StorageOf(dtype),
                                                     .rows = static_cast<uint32_t>(view.rows()),
                                                     .size = static_cast<uint32_t>(view.size),
                                                     .inner = static_cast<uint32_t>(view.inner),
                                                     .is_log = form.kind == PatternKind::kLogSoftmax});
}

constexpr KernelRow kLayerNorm = DeviceRow("LayerNorm", NormalizeLastAxes, nullptr),
                    kRmsNorm = DeviceRow("RMSNorm", NormalizeLastAxes, nullptr),
                    kInstanceNorm = DeviceRow("InstanceNorm", NormalizeChannels, nullptr),
                    kGroupNorm = DeviceRow("GroupNorm", NormalizeChannels, nullptr),
                    kSoftmax = DeviceRow("Softmax", NormalizeExponentials, nullptr),
                    kLogSoftmax = DeviceRow("LogSoftmax", NormalizeExponentials, nullptr);

}  // namespace

const KernelRow* FindDeviceNormRow(PatternKind kind) {
  switch (kind) {
    case PatternKind::kLayerNorm:
      return &kLayerNorm;
    case PatternKind::kRmsNorm:
      return &kRmsNorm;
    case PatternKind::kInstanceNorm:
      return &kInstanceNorm;
    case PatternKind::kGroupNorm:
      return &kGroupNorm;
    case PatternKind::kSoftmax:
      return &kSoftmax;
    case PatternKind::kLogSoftmax:
      return &kLogSoftmax;
    case PatternKind::kLogSumExp:
    case PatternKind::kGelu:
    case PatternKind::kTanhGelu:
    case PatternKind::kSilu:
    case PatternKind::kHardSwish:
    case PatternKind::kAttention:
    case PatternKind::kRotary:
      return nullptr;
  }
  return nullptr;
}

}  // namespace amp
