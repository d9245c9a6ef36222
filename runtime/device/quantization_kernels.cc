// QuantizeLinear, DequantizeLinear and DynamicQuantizeLinear on a device, with one scale or one for each index of an
// axis.
#include <optional>

#include "ir/base/status.h"
#include "runtime/device/families.h"
#include "runtime/device/raw/quantized.h"
#include "runtime/device/storage.h"
#include "runtime/kernel/shape_math.h"

namespace amp {
namespace {

constexpr size_t kScale = 1, kZeroPoint = 2;

bool IsByte(DType type) { return type == DType::kInt8 || type == DType::kUint8; }

absl::StatusOr<size_t> ScaleAxis(const KernelContext& context) {
  const size_t rank = context.Input(0).rank();
  const int64_t default_axis = rank == 1 && !HasAttribute(context.node(), "axis") ? 0 : 1;
  return NormalizeAxis(GetInt(context.node(), "axis", default_axis), rank);
}

const char* WhyNotScales(const KernelContext& context) {
  const Tensor &x = context.Input(0), &scale = context.Input(kScale);
  if (!IsDeviceFloat(scale.dtype())) return "scales of another type than float32, float16 and bfloat16";
  if (GetInt(context.node(), "block_size", 0) != 0) return "scales of blocks";
  if (GetInt(context.node(), "precision", 0) != 0) return "a type to divide in";
  const Tensor& points = context.Input(kZeroPoint);
  const bool is_one = scale.num_elements() == 1;
  const bool fits = points.dims() == scale.dims() || (is_one && points.num_elements() == 1);
  if (context.HasInput(kZeroPoint) && !fits) return "zero points that do not fit";
  if (is_one) return nullptr;
  const absl::StatusOr<size_t> axis = ScaleAxis(context);
  return axis.ok() && scale.dims() == Dims{x.dim(*axis)} ? nullptr : "scales that do not fit";
}

absl::StatusOr<device::ScaleRuns> RunsOf(const KernelContext& context) {
  const Tensor &x = context.Input(0), &scale = context.Input(kScale);
  device::ScaleRuns runs = {.scale = scale.data(),
                            .zero_point = context.Input(kZeroPoint).data(),
                            .scale_storage = StorageOf(scale.dtype()),
                            .scales = 1,
                            .inner = 1};
  if (scale.num_elements() == 1) return runs;
  AMP_ASSIGN_OR_RETURN(const size_t axis, ScaleAxis(context));
  runs.scales = CountOf(scale);
  runs.inner = static_cast<uint32_t>(ElementsBetween(x.dims(), axis + 1, x.rank()));
  return runs;
}

// ---- QuantizeLinear -------------------------------------------------------------------------------------------------

// Nothing where what is stated and the zero point differ, or name no type.
std::optional<DType> QuantizedType(const KernelContext& context) {
  std::optional<DType> stated;
  if (GetInt(context.node(), "output_dtype", 0) != 0) {
    stated = GetDType(context.node(), "output_dtype");
    if (!stated.has_value()) return std::nullopt;
  }
  if (!context.HasInput(kZeroPoint)) return stated.value_or(DType::kUint8);
  const DType type = context.Input(kZeroPoint).dtype();
  return stated.value_or(type) == type ? std::optional(type) : std::nullopt;
}

// The quotient is of the scale's type.
const char* WhyNotQuantize(const KernelContext& context) {
  const DType type = context.Input(0).dtype(), scale = context.Input(kScale).dtype();
  if (!IsDeviceFloat(type)) return kNoDeviceFloat;
  if (scale != DType::kFloat32 && scale != type) return "scales of another type";
  const std::optional<DType> result = QuantizedType(context);
  if (!result.has_value() || !IsByte(*result)) return "another type than 8 bits";
  return WhyNotScales(context);
}

absl::Status QuantizeLinear(KernelContext& context) {
  context.Report("quantize", DType::kFloat32);
  const Tensor& x = context.Input(0);
  AMP_ASSIGN_OR_RETURN(const device::ScaleRuns runs, RunsOf(context));
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, *QuantizedType(context), x.dims()));
  context.resources().device->Start(device::QuantizeArguments{.x = x.data(),
                                                              .y = y->mutable_data(),
                                                              .x_storage = StorageOf(x.dtype()),
                                                              .y_storage = StorageOf(y->dtype()),
                                                              .count = CountOf(x),
                                                              .runs = runs});
  return absl::OkStatus();
}

// ---- DequantizeLinear -----------------------------------------------------------------------------------------------

// What int32 stands for has too many digits to be rounded to float32 first.
const char* WhyNotDequantize(const KernelContext& context) {
  const DType type = context.Input(0).dtype(), scale = context.Input(kScale).dtype();
  const bool is_wide = type == DType::kInt32;
  if (!IsByte(type) && !is_wide) return "another type than 8 bits and int32";
  if (is_wide && scale != DType::kFloat32) return "int32 with a scale of 16 bits";
  if (context.HasInput(kZeroPoint) && context.Input(kZeroPoint).dtype() != type) return "zero points of another type";
  const bool is_stated = GetInt(context.node(), "output_dtype", 0) != 0;
  if (is_stated && GetDType(context.node(), "output_dtype") != scale) return "another type than the scale's";
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

const char* WhyNotDynamic(const KernelContext& context) {
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
