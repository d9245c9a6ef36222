// Gradients of norms on a device, as functions of domain ai.amp: of norms over rows (LayerNormalization,
// RMSNormalization) and over channels (BatchNormalization; InstanceNormalization, where each sample has channels of its
// own).
#include "ir/base/status.h"
#include "runtime/device/channel_moments.h"
#include "runtime/device/column_sums.h"
#include "runtime/device/families.h"
#include "runtime/device/raw/norm_gradient.h"
#include "runtime/device/storage.h"
#include "runtime/forms/norm_gradient.h"
#include "runtime/kernel/shape_math.h"

namespace amp {
namespace {

using Form = NormGradientForm;
constexpr size_t kX = Form::kX, kScale = Form::kScale, kG = Form::kG;

template <Form::Shape kShape>
Refusal WhyNot(const KernelContext& context) {
  for (const size_t port : {kX, kScale, kG}) {
    if (!IsDeviceFloat(context.Input(port).dtype())) return kNoDeviceFloat;
  }
  return WhyNotNormGradient(context, kShape);
}

device::NormOperands OperandsOf(const KernelContext& context) {
  const Tensor &x = context.Input(kX), &scale = context.Input(kScale), &g = context.Input(kG);
  return {.x = x.data(),
          .scale = scale.data(),
          .g = g.data(),
          .x_storage = StorageOf(x.dtype()),
          .scale_storage = StorageOf(scale.dtype()),
          .g_storage = StorageOf(g.dtype())};
}

bool GivesScaleGradient(const KernelContext& context) { return context.HasOutput(1); }

float* Floats(Tensor& tensor) { return static_cast<float*>(tensor.mutable_data()); }

// ---- norms over all axes from one on --------------------------------------------------------------------------------

absl::Status GiveScaleGradient(KernelContext& context, const device::RowGradientArguments& norm) {
  AMP_ASSIGN_OR_RETURN(Tensor * dscale, context.MakeOutput(1, DType::kFloat32, context.Input(kScale).dims()));
  const device::SumColumnsArguments sum = {.of = norm.of,
                                           .rows = norm.rows,
                                           .columns = norm.size,
                                           .parts = 0,
                                           .part_size = 0,
                                           .mean = norm.mean,
                                           .inverse_deviation = norm.inverse_deviation,
                                           .sums = nullptr};
  return StartColumnSums(context, sum, 1, *dscale);
}

enum class Centre { kMean, kZero };

template <Centre kCentre>
absl::Status OfRows(KernelContext& context) {
  context.Report("gradient of rows", DType::kFloat32);
  const Tensor& x = context.Input(kX);
  const int64_t size = context.Input(kScale).num_elements(), rows = x.num_elements() / size;
  AMP_ASSIGN_OR_RETURN(Tensor * dx, context.MakeOutput(0, DType::kFloat32, x.dims()));
  AMP_ASSIGN_OR_RETURN(Tensor mean, context.MakeScratch(DType::kFloat32, {rows}));
  AMP_ASSIGN_OR_RETURN(Tensor inverse_deviation, context.MakeScratch(DType::kFloat32, {rows}));
  const device::RowGradientArguments norm = {.of = OperandsOf(context),
                                             .rows = static_cast<uint32_t>(rows),
                                             .size = static_cast<uint32_t>(size),
                                             .is_centred = kCentre == Centre::kMean,
                                             .epsilon = ReadNormGradientEpsilon(context),
                                             .dx = Floats(*dx),
                                             .mean = Floats(mean),
                                             .inverse_deviation = Floats(inverse_deviation)};
  context.resources().device->Start(norm);
  return GivesScaleGradient(context) ? GiveScaleGradient(context, norm) : absl::OkStatus();
}

// ---- norms over channels --------------------------------------------------------------------------------------------

// Computes dx, with x read as [batch, channels, pixels]. `normal_sums`: set to the sum of g times the normal, by
// channel.
absl::Status StartGradient(KernelContext& context, const device::ChannelParts& parts, Tensor& dx, Tensor& normal_sums) {
  const Tensor &x = context.Input(kX), &scale = context.Input(kScale);
  const device::NormOperands of = OperandsOf(context);
  AMP_ASSIGN_OR_RETURN(const ChannelMoments moments, StartMoments(context, x, parts));
  AMP_ASSIGN_OR_RETURN(Tensor sums, context.MakeScratch(DType::kFloat32, {parts.channels, parts.parts}));
  AMP_ASSIGN_OR_RETURN(Tensor products, context.MakeScratch(DType::kFloat32, {parts.channels, parts.parts}));
  AMP_ASSIGN_OR_RETURN(Tensor mean_g, context.MakeScratch(DType::kFloat32, {parts.channels}));
  AMP_ASSIGN_OR_RETURN(Tensor of_g, context.MakeScratch(DType::kFloat32, {parts.channels}));
  AMP_ASSIGN_OR_RETURN(Tensor of_x, context.MakeScratch(DType::kFloat32, {parts.channels}));
  const device::ChannelCoefficients coefficients = {
      .mean_g = Floats(mean_g), .of_g = Floats(of_g), .of_x = Floats(of_x)};
  Accelerator& device = *context.resources().device;
  device.Start(device::PartSumsArguments{
      .of = of, .parts = parts, .mean = moments.means(), .sums = Floats(sums), .products = Floats(products)});
  device.Start(device::JoinSumsArguments{.sums = Floats(sums),
                                         .products = Floats(products),
                                         .parts = parts,
                                         .variance = moments.variances(),
                                         .scale = scale.data(),
                                         .scale_storage = StorageOf(scale.dtype()),
                                         .scales = CountOf(scale),
                                         .epsilon = ReadNormGradientEpsilon(context),
                                         .coefficients = coefficients,
                                         .normal_sums = Floats(normal_sums)});
  device.Start(device::ChannelGradientArguments{.of = of,
                                                .count = CountOf(x),
                                                .channels = parts.channels,
                                                .pixels = parts.pixels,
                                                .mean = moments.means(),
                                                .coefficients = coefficients,
                                                .dx = Floats(dx)});
  return absl::OkStatus();
}

absl::Status OfBatch(KernelContext& context) {
  context.Report("gradient of channels", DType::kFloat32);
  const Tensor& x = context.Input(kX);
  const int64_t pixels = ElementsBetween(x.dims(), 2, x.rank());
  AMP_ASSIGN_OR_RETURN(Tensor * dx, context.MakeOutput(0, DType::kFloat32, x.dims()));
  AMP_ASSIGN_OR_RETURN(Tensor dscale, Tensor::Create(DType::kFloat32, {x.dim(1)}, context.memory()));
  AMP_RETURN_IF_ERROR(StartGradient(context, CutChannels(x.dim(0), x.dim(1), pixels), *dx, dscale));
  if (GivesScaleGradient(context)) context.SetOutput(1, std::move(dscale));
  return absl::OkStatus();
}

// Reads [N, C, ...] as one sample with N C channels.
absl::Status OfInstances(KernelContext& context) {
  context.Report("gradient of channels", DType::kFloat32);
  const Tensor& x = context.Input(kX);
  const int64_t channels = x.dim(0) * x.dim(1), pixels = ElementsBetween(x.dims(), 2, x.rank());
  AMP_ASSIGN_OR_RETURN(Tensor * dx, context.MakeOutput(0, DType::kFloat32, x.dims()));
  AMP_ASSIGN_OR_RETURN(Tensor sums, context.MakeScratch(DType::kFloat32, {channels}));
  AMP_RETURN_IF_ERROR(StartGradient(context, CutChannels(1, channels, pixels), *dx, sums));
  if (!GivesScaleGradient(context)) return absl::OkStatus();
  AMP_ASSIGN_OR_RETURN(Tensor * dscale, context.MakeOutput(1, DType::kFloat32, {x.dim(1)}));
  const device::SumColumnsArguments sum = {.of = {.x = nullptr,
                                                  .scale = nullptr,
                                                  .g = sums.data(),
                                                  .x_storage = device::Storage::kFloat32,
                                                  .scale_storage = device::Storage::kFloat32,
                                                  .g_storage = device::Storage::kFloat32},
                                           .rows = static_cast<uint32_t>(x.dim(0)),
                                           .columns = static_cast<uint32_t>(x.dim(1)),
                                           .parts = 0,
                                           .part_size = 0,
                                           .mean = nullptr,
                                           .inverse_deviation = nullptr,
                                           .sums = nullptr};
  return StartColumnSums(context, sum, 1, *dscale);
}

constexpr KernelRow RowOf(absl::string_view name, KernelFunction function, RefusalFunction refusal) {
  return DeviceRow(name, function, refusal, {}, "ai.amp");
}

constexpr KernelRow kRows[] = {
    RowOf("LayerNormalizationGradient", OfRows<Centre::kMean>, WhyNot<Form::Shape::kRows>),
    RowOf("RMSNormalizationGradient", OfRows<Centre::kZero>, WhyNot<Form::Shape::kRows>),
    RowOf("BatchNormalizationGradient", OfBatch, WhyNot<Form::Shape::kBatch>),
    RowOf("InstanceNormalizationGradient", OfInstances, WhyNot<Form::Shape::kInstances>),
};

}  // namespace

absl::Span<const KernelRow> NormGradientDeviceKernels() { return kRows; }

}  // namespace amp
