// QuantizeLinear, DequantizeLinear and DynamicQuantizeLinear on a device, with one scale, or one for each index of an
// axis.
#include "ir/base/status.h"
#include "runtime/device/families.h"
#include "runtime/device/raw/quantized.h"
#include "runtime/device/storage.h"
#include "runtime/forms/quantize.h"
#include "runtime/kernel/shape_math.h"

namespace amp {
namespace {

constexpr size_t kScale = QuantizeForm::kScale, kZeroPoint = QuantizeForm::kZeroPoint;

bool IsByte(DType type) { return type == DType::kInt8 || type == DType::kUint8; }

Refusal WhyNotScales(const KernelContext& context) {
  if (!IsDeviceFloat(context.Input(kScale).dtype())) return "scales of another type than float32, float16 and bfloat16";
  return WhyNotPlainScales(context);
}

absl::StatusOr<device::ScaleRuns> RunsOf(const KernelContext& context) {
  const Tensor &x = context.Input(0), &scale = context.Input(kScale);
  device::ScaleRuns runs = {.scale = scale.data(),
                            .zero_point = context.Input(kZeroPoint).data(),
                            .scale_storage = StorageOf(scale.dtype()),
                            .scales = 1,
                            .inner = 1};
  if (scale.num_elements() == 1) return runs;
  AMP_ASSIGN_OR_RETURN(const QuantizeForm form, ReadQuantize(context));
  runs.scales = CountOf(scale);
  runs.inner = static_cast<uint32_t>(ElementsBetween(x.dims(), form.axis + 1, x.rank()));
  return runs;
}

// ---- QuantizeLinear -------------------------------------------------------------------------------------------------

// The quotient has the scale's type.
Refusal WhyNotQuantize(const KernelContext& context) {
  const DType type = context.Input(0).dtype(), scale = context.Input(kScale).dtype();
  if (!IsDeviceFloat(type)) return kNoDeviceFloat;
  if (scale != DType::kFloat32 && scale != type) return "scales of another type";
  const absl::StatusOr<DType> result = ReadQuantizedType(context);
  if (!result.ok() || !IsByte(*result)) return "another type than 8 bits";
  return WhyNotScales(context);
}

absl::Status QuantizeLinear(KernelContext& context) {
  context.Report("quantize", DType::kFloat32);
  const Tensor& x = context.Input(0);
  AMP_ASSIGN_OR_RETURN(const device::ScaleRuns runs, RunsOf(context));
  AMP_ASSIGN_OR_RETURN(const DType type, ReadQuantizedType(context));
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, type, x.dims()));
  context.resources().device->Start(device::QuantizeArguments{.x = x.data(),
                                                              .y = y->mutable_data(),
                                                              .x_storage = StorageOf(x.dtype()),
                                                              .y_storage = StorageOf(y->dtype()),
                                                              .count = CountOf(x),
                                                              .runs = runs});
  return absl::OkStatus();
}

// ---- DequantizeLinear -----------------------------------------------------------------------------------------------

// int32 values have too many digits to be rounded to float32 first, so their scale must be float32.
Refusal WhyNotDequantize(const KernelContext& context) {
  const DType type = context.Input(0).dtype(), scale = context.Input(kScale).dtype();
  const bool is_wide = type == DType::kInt32;
  if (!IsByte(type) && !is_wide) return "another type than 8 bits and int32";
  if (is_wide && scale != DType::kFloat32) return "int32 with a scale of 16 bits";
  if (context.HasInput(kZeroPoint) && context.Input(kZeroPoint).dtype() != type) return "zero points of another type";
  const absl::StatusOr<QuantizeForm> form = ReadQuantize(context);
  if (form.ok() && form->output.value_or(scale) != scale) return "another type than the scale's";
  return WhyNotScales(context);
}

absl::Status DequantizeLinear(KernelContext& context) {
  context.Report("dequantize", DType::kFloat32);
  const Tensor& x = context.Input(0);
  AMP_ASSIGN_OR_RETURN(const device::ScaleRuns runs, RunsOf(context));
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, context.Input(kScale).dtype(), x.dims()));
  context.resources().device->Start(device::DequantizeArguments{
      .x = x.data(), .y = y->mutable_data(), .x_storage = StorageOf(x.dtype()), .count = CountOf(x), .runs = runs});
  return absl::OkStatus();
}

// ---- DynamicQuantizeLinear ------------------------------------------------------------------------------------------

Refusal WhyNotDynamic(const KernelContext& context) {
  return context.Input(0).dtype() == DType::kFloat32 ? nullptr : "another type than float32";
}

absl::Status DynamicQuantizeLinear(KernelContext& context) {
  context.Report("quantize", DType::kFloat32);
  const Tensor& x = context.Input(0);
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, DType::kUint8, x.dims()));
  AMP_ASSIGN_OR_RETURN(Tensor scale, Tensor::Create(DType::kFloat32, {}, context.memory()));
  AMP_ASSIGN_OR_RETURN(Tensor zero_point, Tensor::Create(DType::kUint8, {}, context.memory()));
  Accelerator& device = *context.resources().device;
  device.Start(device::FindRangeArguments{.x = static_cast<const float*>(x.data()),
                                          .count = CountOf(x),
                                          .scale = static_cast<float*>(scale.mutable_data()),
                                          .zero_point = static_cast<uint8_t*>(zero_point.mutable_data())});
  device.Start(device::QuantizeArguments{.x = x.data(),
                                         .y = y->mutable_data(),
                                         .x_storage = device::Storage::kFloat32,
                                         .y_storage = device::Storage::kUint8,
                                         .count = CountOf(x),
                                         .runs = {.scale = scale.data(),
                                                  .zero_point = zero_point.data(),
                                                  .scale_storage = device::Storage::kFloat32,
                                                  .scales = 1,
                                                  .inner = 1}});
  context.SetOutput(1, std::move(scale));
  context.SetOutput(2, std::move(zero_point));
  return absl::OkStatus();
}

constexpr KernelRow kRows[] = {
    DeviceRow("DequantizeLinear", DequantizeLinear, WhyNotDequantize),
    DeviceRow("DynamicQuantizeLinear", DynamicQuantizeLinear, WhyNotDynamic),
    DeviceRow("QuantizeLinear", QuantizeLinear, WhyNotQuantize),
};

}  // namespace

absl::Span<const KernelRow> QuantizationDeviceKernels() { return kRows; }

}  // namespace amp
