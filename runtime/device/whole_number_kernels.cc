// Min, Max, Clip and Div of int32 and int64 on a device.
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "ir/base/status.h"
#include "runtime/device/families.h"
#include "runtime/device/raw/elementwise.h"
#include "runtime/device/storage.h"
#include "runtime/kernel/shape_math.h"

namespace amp {
namespace {

using device::BinaryFunction;

constexpr char kNoWholeNumbers[] = "another type than int32 and int64";
constexpr size_t kMost = 8;  // operands

bool IsWholeNumber(DType type) { return type == DType::kInt32 || type == DType::kInt64; }

struct Operand {
  const void* data;
  const Dims& dims;
};
Operand OperandOf(const Tensor& tensor) { return {tensor.data(), tensor.dims()}; }

// Computes y = function(a, b). REQUIRES: both broadcast to y.
void Zip(Accelerator& device, BinaryFunction function, const Operand& a, const Operand& b, Tensor& y) {
  if (y.num_elements() == 0) return;
  const Broadcast broadcast = {.dims = y.dims(),
                               .strides = {BroadcastStrides(a.dims, y.dims()), BroadcastStrides(b.dims, y.dims())}};
  device.Start(device::ZipIntegersArguments{.operands = {.a = a.data,
                                                         .b = b.data,
                                                         .y = y.mutable_data(),
                                                         .count = CountOf(y),
                                                         .storage = StorageOf(y.dtype()),
                                                         .shape = ShapeOf<2>(MergeAxes(broadcast)),
                                                         .is_flat = false},
                                            .function = function});
}

// ---- Min, Max -------------------------------------------------------------------------------------------------------

Refusal WhyNotExtreme(const KernelContext& context) {
  const Tensor& first = context.Input(0);
  if (!IsWholeNumber(first.dtype())) return kNoWholeNumbers;
  if (context.num_inputs() > kMost) return "too many operands";
  for (size_t i = 0; i < context.num_inputs(); ++i) {
    if (context.Input(i).dtype() != first.dtype()) return "operands of different types";
    if (context.Input(i).rank() > device::kMaxAxes) return kTooManyAxes;
  }
  return {};
}

// Combines one operand after another; the intermediate result may broadcast to a larger shape with each.
template <BinaryFunction kFunction>
absl::Status Extreme(KernelContext& context) {
  const DType dtype = context.Input(0).dtype();
  context.Report("zip", dtype);
  Tensor folded = context.Input(0);
  for (size_t i = 1; i < context.num_inputs(); ++i) {
    const Tensor& next = context.Input(i);
    AMP_ASSIGN_OR_RETURN(Dims dims, BroadcastDims(folded.dims(), next.dims()));
    AMP_ASSIGN_OR_RETURN(Tensor y, Tensor::Create(dtype, std::move(dims), context.memory()));
    Zip(*context.resources().device, kFunction, OperandOf(folded), OperandOf(next), y);
    folded = std::move(y);
  }
  context.SetOutput(0, std::move(folded));
  return absl::OkStatus();
}

// ---- Clip -----------------------------------------------------------------------------------------------------------

constexpr size_t kLowest = 1, kHighest = 2;

Refusal WhyNotClip(const KernelContext& context) {
  const Tensor& x = context.Input(0);
  if (!IsWholeNumber(x.dtype())) return kNoWholeNumbers;
  for (const size_t port : {kLowest, kHighest}) {
    if (!context.HasInput(port)) continue;
    const Tensor& bound = context.Input(port);
    const bool fits = bound.dtype() == x.dtype() && bound.num_elements() == 1 && bound.rank() <= x.rank();
    if (!fits) return "bounds that do not fit";
  }
  return x.rank() <= device::kMaxAxes ? nullptr : kTooManyAxes;
}

// The upper bound wins if it is below the lower one.
absl::Status Clip(KernelContext& context) {
  context.Report("zip", context.Input(0).dtype());
  Tensor clipped = context.Input(0);
  for (const size_t port : {kLowest, kHighest}) {
    if (!context.HasInput(port)) continue;
    AMP_ASSIGN_OR_RETURN(Tensor y, Tensor::Create(clipped.dtype(), clipped.dims(), context.memory()));
    Zip(*context.resources().device, port == kLowest ? BinaryFunction::kMax : BinaryFunction::kMin, OperandOf(clipped),
        OperandOf(context.Input(port)), y);
    clipped = std::move(y);
  }
  context.SetOutput(0, std::move(clipped));
  return absl::OkStatus();
}

// ---- Div ------------------------------------------------------------------------------------------------------------

constexpr size_t kDivisor = 1;
constexpr int kBroadcasts = 7;

// Divisors must be constants, which the processor checks: no device kernel can report a division by 0.
Refusal WhyNotDiv(const KernelContext& context) {
  const Tensor &x = context.Input(0), &divisor = context.Input(kDivisor);
  if (!IsWholeNumber(x.dtype())) return kNoWholeNumbers;
  if (divisor.dtype() != x.dtype()) return "operands of different types";
  if (context.version() < kBroadcasts) return "operands before opset 7";
  if (x.rank() > device::kMaxAxes || divisor.rank() > device::kMaxAxes) return kTooManyAxes;
  if (!context.IsConstantInput(kDivisor)) return "a divisor that is no constant";
  const absl::StatusOr<std::vector<int64_t>> divisors = context.InputInts(kDivisor);
  const bool fits = divisors.ok() && std::count(divisors->begin(), divisors->end(), 0) == 0;
  return fits ? nullptr : "a divisor of 0";
}

absl::Status Div(KernelContext& context) {
  const Tensor &x = context.Input(0), &divisor = context.Input(kDivisor);
  context.Report("zip", x.dtype());
  AMP_ASSIGN_OR_RETURN(Dims dims, BroadcastDims(x.dims(), divisor.dims()));
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, x.dtype(), std::move(dims)));
  Accelerator& device = *context.resources().device;
  AMP_ASSIGN_OR_RETURN(const std::shared_ptr<const void> shared, ShareList(device, divisor.bytes()));
  Zip(device, BinaryFunction::kDivide, {x.data(), x.dims()}, {shared.get(), divisor.dims()}, *y);
  return absl::OkStatus();
}

constexpr KernelRow kRows[] = {
    DeviceRow("Max", Extreme<BinaryFunction::kMax>, WhyNotExtreme),
    DeviceRow("Min", Extreme<BinaryFunction::kMin>, WhyNotExtreme),
    DeviceRow("Clip", Clip, WhyNotClip),
    DeviceRow("Div", Div, WhyNotDiv, {kDivisor}),
};

}  // namespace

absl::Span<const KernelRow> WholeNumberDeviceKernels() { return kRows; }

}  // namespace amp
