// Functions of two elements on a device, comparisons, logic, and Where.
#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "ir/base/status.h"
#include "runtime/device/families.h"
#include "runtime/device/raw/elementwise.h"
#include "runtime/device/storage.h"
#include "runtime/kernel/shape_math.h"

namespace amp {
namespace {

using device::BinaryFunction;
using device::Comparison;

bool IsDeviceInteger(DType type) { return type == DType::kInt32 || type == DType::kInt64; }

// Returns why the first `count` inputs cannot be broadcast together on a device.
Refusal WhyNotTogether(const KernelContext& context, size_t count) {
  for (size_t i = 1; i < count; ++i) {
    if (context.Input(i).dtype() != context.Input(0).dtype()) return "operands of different types";
  }
  for (size_t i = 0; i < count; ++i) {
    if (context.Input(i).rank() > device::kMaxAxes) return kTooManyAxes;
  }
  return {};
}

Refusal WhyNotFloats(const KernelContext& context) {
  if (!IsDeviceFloat(context.Input(0).dtype())) return kNoDeviceFloat;
  return WhyNotTogether(context, 2);
}

Refusal WhyNotNumbers(const KernelContext& context) {
  const DType dtype = context.Input(0).dtype();
  if (!IsDeviceFloat(dtype) && !IsDeviceInteger(dtype)) return "another type than floats, int32 and int64";
  return WhyNotTogether(context, 2);
}

Refusal WhyNotTruths(const KernelContext& context) {
  if (context.Input(0).dtype() != DType::kBool) return "another type than bool";
  return WhyNotTogether(context, 2);
}

Refusal WhyNotEqual(const KernelContext& context) {
  return context.Input(0).dtype() == DType::kBool ? WhyNotTruths(context) : WhyNotNumbers(context);
}

// Returns the arguments for two tensors that broadcast to one shape.
device::ZipOperands Meeting(const Tensor& a, const Tensor& b, const Broadcast& broadcast, Tensor& y) {
  const Broadcast merged = MergeAxes(broadcast);
  return {.a = a.data(),
          .b = b.data(),
          .y = y.mutable_data(),
          .count = CountOf(y),
          .storage = StorageOf(a.dtype()),
          .shape = ShapeOf<2>(merged),
          .is_flat = merged.dims.size() == 1 && merged.strides[0][0] == 1 && merged.strides[1][0] == 1};
}

void StartZip(Accelerator& device, const device::ZipOperands& operands, BinaryFunction function) {
  if (device::IsFloat(operands.storage)) {
    device.Start(device::ZipArguments{.operands = operands, .function = function});
  } else {
    device.Start(device::ZipIntegersArguments{.operands = operands, .function = function});
  }
}

template <BinaryFunction kFunction>
absl::Status Zip(KernelContext& context) {
  const DType dtype = context.Input(0).dtype();
  context.Report("zip", IsDeviceFloat(dtype) ? DType::kFloat32 : dtype);
  AMP_ASSIGN_OR_RETURN(const Broadcast broadcast, BroadcastPair(context));
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, dtype, broadcast.dims));
  if (y->num_elements() == 0) return absl::OkStatus();
  StartZip(*context.resources().device, Meeting(context.Input(0), context.Input(1), broadcast, *y), kFunction);
  return absl::OkStatus();
}

enum class Sense { kPlain, kNegated };

template <Comparison kComparison, Sense kSense = Sense::kPlain>
absl::Status Compared(KernelContext& context) {
  context.Report("compare", context.Input(0).dtype());
  AMP_ASSIGN_OR_RETURN(const Broadcast broadcast, BroadcastPair(context));
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, DType::kBool, broadcast.dims));
  if (y->num_elements() == 0) return absl::OkStatus();
  context.resources().device->Start(
      device::CompareArguments{.operands = Meeting(context.Input(0), context.Input(1), broadcast, *y),
                               .comparison = kComparison,
                               .is_negated = kSense == Sense::kNegated});
  return absl::OkStatus();
}

// ---- Where ----------------------------------------------------------------------------------------------------------

Refusal WhyNotWhere(const KernelContext& context) {
  const DType dtype = context.Input(1).dtype();
  if (context.Input(0).dtype() != DType::kBool || context.Input(2).dtype() != dtype) return "types that do not fit";
  if (dtype == DType::kString || ElementBytes(dtype) > 8) return "elements of another size than 1, 2, 4 or 8 bytes";
  for (size_t i = 0; i < 3; ++i) {
    if (context.Input(i).rank() > device::kMaxAxes) return kTooManyAxes;
  }
  return {};
}

absl::Status Where(KernelContext& context) {
  const DType dtype = context.Input(1).dtype();
  context.Report("choose", dtype);
  AMP_ASSIGN_OR_RETURN(const Broadcast broadcast, BroadcastInputs(context, 3));
  // A training step that is skipped returns its state this way: y is input 2, unchanged.
  const bool may_stay = context.Input(2).dims() == broadcast.dims;
  AMP_ASSIGN_OR_RETURN(Tensor * y,
                       may_stay ? context.MakeOutputInPlace(0, 2) : context.MakeOutput(0, dtype, broadcast.dims));
  if (y->num_elements() == 0) return absl::OkStatus();
  context.resources().device->Start(device::ChooseArguments{.condition = context.Input(0).data(),
                                                            .a = context.Input(1).data(),
                                                            .b = context.Input(2).data(),
                                                            .y = y->mutable_data(),
                                                            .count = CountOf(*y),
                                                            .element_bytes = ElementBytes(dtype),
                                                            .shape = ShapeOf<3>(MergeAxes(broadcast))});
  return absl::OkStatus();
}

Refusal WhyNotPRelu(const KernelContext& context) {
  if (context.version() < 7) return "slopes before opset 7";
  const absl::StatusOr<Dims> dims = BroadcastDims(context.Input(0).dims(), context.Input(1).dims());
  if (!dims.ok() || *dims != context.Input(0).dims()) return "a slope that does not fit";
  return WhyNotFloats(context);
}

constexpr KernelRow kRows[] = {
    DeviceRow("Add", Zip<BinaryFunction::kAdd>, WhyNotNumbers),
    DeviceRow("Div", Zip<BinaryFunction::kDivide>, WhyNotFloats),
    DeviceRow("Mul", Zip<BinaryFunction::kMultiply>, WhyNotNumbers),
    DeviceRow("Sub", Zip<BinaryFunction::kSubtract>, WhyNotNumbers),
    DeviceRow("Pow", Zip<BinaryFunction::kPower>, WhyNotFloats),
    DeviceRow("PRelu", Zip<BinaryFunction::kPRelu>, WhyNotPRelu),
    DeviceRow("And", Zip<BinaryFunction::kMin>, WhyNotTruths),
    DeviceRow("Or", Zip<BinaryFunction::kMax>, WhyNotTruths),
    DeviceRow("Xor", Compared<Comparison::kEqual, Sense::kNegated>, WhyNotTruths),
    DeviceRow("Equal", Compared<Comparison::kEqual>, WhyNotEqual),
    DeviceRow("Greater", Compared<Comparison::kGreater>, WhyNotNumbers),
    DeviceRow("GreaterOrEqual", Compared<Comparison::kGreaterOrEqual>, WhyNotNumbers),
    DeviceRow("Less", Compared<Comparison::kLess>, WhyNotNumbers),
    DeviceRow("LessOrEqual", Compared<Comparison::kLessOrEqual>, WhyNotNumbers),
    InPlace(DeviceRow("Where", Where, WhyNotWhere)),
};

}  // namespace

absl::Span<const KernelRow> BinaryDeviceKernels() { return kRows; }

}  // namespace amp
