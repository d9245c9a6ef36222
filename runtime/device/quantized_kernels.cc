// com.microsoft's element-wise operators on 8-bit quantised numbers on a device, with the same bits as the processor's
// loops.
#include <algorithm>

#include "ir/base/status.h"
#include "runtime/device/families.h"
#include "runtime/device/raw/quantized.h"
#include "runtime/device/storage.h"
#include "runtime/forms/quantize.h"
#include "runtime/kernel/shape_math.h"
#include "runtime/loops/quantized_numbers.h"

namespace amp {
namespace {

using Ports = QuantizedPorts;

// REQUIRES: the scale and the zero point have been checked.
device::QuantizedNumbers NumbersAt(const KernelContext& context, size_t scale_port, DType dtype) {
  const Quantized read = *ReadQuantized(context, scale_port, dtype);
  return {.scale = read.scale, .zero_point = static_cast<int32_t>(read.zero_point), .storage = StorageOf(dtype)};
}

// ---- pairs ----------------------------------------------------------------------------------------------------------

Refusal WhyNotPair(const KernelContext& context) {
  for (const size_t port : {Ports::kA, Ports::kB}) {
    if (context.Input(port).rank() > device::kMaxAxes) return kTooManyAxes;
  }
  return WhyNotQuantizedPair(context);
}

template <device::BinaryFunction kFunction>
absl::Status Pair(KernelContext& context) {
  context.Report("quantized pair", DType::kFloat64);
  const Tensor &a = context.Input(Ports::kA), &b = context.Input(Ports::kB);
  Broadcast broadcast;
  AMP_ASSIGN_OR_RETURN(broadcast.dims, BroadcastDims(a.dims(), b.dims()));
  broadcast.strides = {BroadcastStrides(a.dims(), broadcast.dims), BroadcastStrides(b.dims(), broadcast.dims)};
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, a.dtype(), broadcast.dims));
  if (y->num_elements() == 0) return absl::OkStatus();
  context.resources().device->Start(
      device::QuantizedPairArguments{.a = a.data(),
                                     .b = b.data(),
                                     .y = y->mutable_data(),
                                     .count = CountOf(*y),
                                     .shape = ShapeOf<2>(MergeAxes(broadcast)),
                                     .of_a = NumbersAt(context, Ports::kA + 1, a.dtype()),
                                     .of_b = NumbersAt(context, Ports::kB + 1, a.dtype()),
                                     .of_y = NumbersAt(context, Ports::kScaleY, a.dtype()),
                                     .function = kFunction});
  return absl::OkStatus();
}

// ---- functions of one number, and concatenation ---------------------------------------------------------------------

// Where x goes in y: blocks of `run` bytes, `step` bytes apart, the first one at `first`.
struct Blocks {
  int64_t run, first, step;
};
void LookUp(Accelerator& device, const Tensor& x, Tensor& y, const Blocks& blocks, const QuantizedTable& table) {
  if (x.num_elements() == 0) return;
  device::QuantizedTableArguments look = {.x = static_cast<const uint8_t*>(x.data()),
                                          .y = static_cast<uint8_t*>(y.mutable_data()),
                                          .count = CountOf(x),
                                          .run = static_cast<uint32_t>(blocks.run),
                                          .first = blocks.first,
                                          .step = blocks.step,
                                          .table = {}};
  std::copy(table.begin(), table.end(), look.table);
  device.Start(look);
}

absl::Status Function(KernelContext& context) {
  context.Report("look up", DType::kFloat64);
  const QuantizedTable table = TableOfNode(context);
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutputLike(0, Ports::kX));
  const Tensor& x = context.Input(Ports::kX);
  LookUp(*context.resources().device, x, *y, {.run = std::max<int64_t>(x.num_elements(), 1), .first = 0, .step = 0},
         table);
  return absl::OkStatus();
}

// Ports of scales and zero points, which the processor reads.
constexpr PortSet kOfConcat = {0, 1, 3, 4, 6, 7, 9, 10, 12, 13, 15, 16, 18, 19, 21, 22, 24, 25, 27, 28};
constexpr size_t kMostConcatInputs = 29;

Refusal WhyNotConcat(const KernelContext& context) {
  return context.num_inputs() > kMostConcatInputs ? "more than 9 tensors" : WhyNotQuantizedConcat(context);
}

absl::Status Concat(KernelContext& context) {
  context.Report("look up", DType::kFloat64);
  const Tensor& first = context.Input(Ports::kFirstPart);
  AMP_ASSIGN_OR_RETURN(const size_t axis, ReadQuantizedConcatAxis(context));
  Dims dims = first.dims();
  dims[axis] = 0;
  for (size_t port = Ports::kFirstPart; port < context.num_inputs(); port += Ports::kPortsOfPart) {
    dims[axis] += context.Input(port).dim(axis);
  }
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, first.dtype(), dims));
  if (y->num_elements() == 0) return absl::OkStatus();
  const AxisView whole(dims, axis);
  const Quantized to = *ReadQuantized(context, 0, first.dtype());
  Blocks blocks = {.run = 0, .first = 0, .step = static_cast<int64_t>(whole.size * whole.inner)};
  for (size_t port = Ports::kFirstPart; port < context.num_inputs(); port += Ports::kPortsOfPart) {
    const Tensor& part = context.Input(port);
    blocks.run = part.dim(axis) * static_cast<int64_t>(whole.inner);
    const Quantized from = *ReadQuantized(context, port + 1, part.dtype());
    LookUp(*context.resources().device, part, *y, blocks, TableOf(from, to, part.dtype(), [](double x) { return x; }));
    blocks.first += blocks.run;
  }
  return absl::OkStatus();
}

// ---- averages of images ---------------------------------------------------------------------------------------------

Refusal WhyNotMean(const KernelContext& context) {
  if (const Refusal refusal = WhyNotQuantizedMean(context)) return refusal;
  const Tensor& x = context.Input(Ports::kX);
  const bool fits = ElementsBetween(x.dims(), 2, x.rank()) <= device::kMostOfMean;
  return fits ? nullptr : "images whose sums float32 does not hold";
}

absl::Status Mean(KernelContext& context) {
  context.Report("quantized mean", DType::kFloat64);
  const Tensor& x = context.Input(Ports::kX);
  Dims dims(x.rank(), 1);
  dims[0] = x.dim(0);
  dims[1] = x.dim(1);
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, x.dtype(), dims));
  context.resources().device->Start(
      device::QuantizedMeanArguments{.x = x.data(),
                                     .y = y->mutable_data(),
                                     .rows = CountOf(*y),
                                     .size = static_cast<uint32_t>(ElementsBetween(x.dims(), 2, x.rank())),
                                     .of_x = NumbersAt(context, Ports::kX + 1, x.dtype()),
                                     .of_y = NumbersAt(context, Ports::kScaleOfOne, x.dtype())});
  return absl::OkStatus();
}

constexpr PortSet kOfPair = {1, 2, 4, 5, 6, 7}, kOfOne = {1, 2, 3, 4};

constexpr KernelRow Row(absl::string_view op_type, KernelFunction function, RefusalFunction refusal,
                        PortSet host_inputs) {
  return DeviceRow(op_type, function, refusal, host_inputs, "com.microsoft");
}

constexpr KernelRow kRows[] = {
    Row("QLinearAdd", Pair<device::BinaryFunction::kAdd>, WhyNotPair, kOfPair),
    Row("QLinearConcat", Concat, WhyNotConcat, kOfConcat),
    Row("QLinearGlobalAveragePool", Mean, WhyNotMean, kOfOne),
    Row("QLinearLeakyRelu", Function, WhyNotQuantizedOne, kOfOne),
    Row("QLinearMul", Pair<device::BinaryFunction::kMultiply>, WhyNotPair, kOfPair),
    Row("QLinearSigmoid", Function, WhyNotQuantizedOne, kOfOne),
};

}  // namespace

absl::Span<const KernelRow> QuantizedDeviceKernels() { return kRows; }

}  // namespace amp
