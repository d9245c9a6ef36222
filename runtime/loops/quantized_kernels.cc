// com.microsoft's arithmetic on 8-bit quantised numbers, element by element: QLinearAdd, QLinearMul, the activations,
// QLinearConcat, QLinearGlobalAveragePool. Results are the reference's to the last bit: a function of one number is a
// table of 256, and sums and products are computed in float64.
#include "ir/base/status.h"
#include "runtime/forms/quantize.h"
#include "runtime/kernel/broadcast.h"
#include "runtime/kernel/doubles.h"
#include "runtime/kernel/shape_math.h"
#include "runtime/loops/best_loops.h"
#include "runtime/loops/families.h"
#include "runtime/loops/quantized_numbers.h"
#include "runtime/loops/row_parts.h"

namespace amp {
namespace {

using Ports = QuantizedPorts;

// The numbers' own bits, whichever of the two types it is.
const uint8_t* BytesOf(const Tensor& x) { return reinterpret_cast<const uint8_t*>(x.bytes().data()); }
uint8_t* BytesOf(Tensor& x) { return reinterpret_cast<uint8_t*>(x.mutable_bytes().data()); }

// ---- pairs ----------------------------------------------------------------------------------------------------------

template <typename T>
absl::Status OfPairs(KernelContext& context, QuantizedLoops::Loop<T> loop) {
  const Tensor &a = context.Input(Ports::kA), &b = context.Input(Ports::kB);
  Broadcast broadcast;
  AMP_ASSIGN_OR_RETURN(broadcast.dims, BroadcastDims(a.dims(), b.dims()));
  broadcast.strides = {BroadcastStrides(a.dims(), broadcast.dims), BroadcastStrides(b.dims(), broadcast.dims)};
  const QuantizedPair pair{*ReadQuantized(context, Ports::kA + 1, a.dtype()),
                           *ReadQuantized(context, Ports::kB + 1, a.dtype()),
                           *ReadQuantized(context, Ports::kScaleY, a.dtype())};
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, a.dtype(), broadcast.dims));
  if (y->num_elements() == 0) return absl::OkStatus();
  const T *const in_a = a.elements<T>().data(), *const in_b = b.elements<T>().data();
  T* const out = y->mutable_elements<T>().data();
  ForEachRowPart(broadcast, static_cast<size_t>(y->num_elements()),
                 [&](const RowWalk& row, size_t first, size_t count) {
                   loop({in_a + row.At(0, first), in_b + row.At(1, first), row.step(0), row.step(1)},
                        out + row.first() + first, count, pair);
                 });
  return absl::OkStatus();
}

template <QuantizedLoops::Loop<uint8_t> QuantizedLoops::*kUnsigned,
          QuantizedLoops::Loop<int8_t> QuantizedLoops::*kSigned>
absl::Status Pairs(KernelContext& context) {
  const Loops& loops = BestLoops();
  context.Report(loops.name, DType::kFloat64);
  return context.Input(Ports::kA).dtype() == DType::kUint8 ? OfPairs<uint8_t>(context, loops.quantized.*kUnsigned)
                                                           : OfPairs<int8_t>(context, loops.quantized.*kSigned);
}

// ---- functions of one number ----------------------------------------------------------------------------------------

absl::Status LookUp(KernelContext& context) {
  const Loops& loops = BestLoops();
  context.Report(loops.name, DType::kFloat64);
  const Tensor& x = context.Input(Ports::kX);
  const QuantizedTable table = TableOfNode(context);
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutputLike(0, Ports::kX));
  const uint8_t* const from = BytesOf(x);
  uint8_t* const to = BytesOf(*y);
  ParallelFor(static_cast<size_t>(x.num_elements()), 1, [&](const Share& share) {
    loops.quantized.look_up(from + share.first, to + share.first, share.end - share.first, table.data());
  });
  return absl::OkStatus();
}

// ---- joining --------------------------------------------------------------------------------------------------------

absl::Status QLinearConcat(KernelContext& context) {
  const Loops& loops = BestLoops();
  context.Report(loops.name, DType::kFloat64);
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
  uint8_t* out = BytesOf(*y);
  for (size_t port = Ports::kFirstPart; port < context.num_inputs(); port += Ports::kPortsOfPart) {
    const Tensor& part = context.Input(port);
    const QuantizedTable table =
        TableOf(*ReadQuantized(context, port + 1, part.dtype()), to, part.dtype(), [](double x) { return x; });
    const size_t run = static_cast<size_t>(part.dim(axis)) * whole.inner;
    for (size_t outer = 0; outer < whole.outer; ++outer) {
      loops.quantized.look_up(BytesOf(part) + outer * run, out + outer * whole.size * whole.inner, run, table.data());
    }
    out += run;
  }
  return absl::OkStatus();
}

// ---- averages of images ---------------------------------------------------------------------------------------------

absl::Status QLinearGlobalAveragePool(KernelContext& context) {
  context.Report(BestLoops().name, DType::kFloat64);
  const Tensor& x = context.Input(Ports::kX);
  Dims dims(x.rank(), 1);
  dims[0] = x.dim(0);
  dims[1] = x.dim(1);
  const auto pixels = ElementsBetween(x.dims(), 2, x.rank());
  const Quantized from = *ReadQuantized(context, Ports::kX + 1, x.dtype()),
                  to = *ReadQuantized(context, Ports::kScaleOfOne, x.dtype());
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, x.dtype(), dims));
  const auto mean_of = [&]<typename T>(TypeTag<T>, size_t image) {
    int64_t sum = 0;
    for (const T q : x.elements<T>().subspan(image * static_cast<size_t>(pixels), static_cast<size_t>(pixels)))
      sum += q;
    const double total = static_cast<double>(sum) - static_cast<double>(pixels) * from.zero_point;
    return total * from.scale / static_cast<double>(pixels);
  };
  for (size_t image = 0; image < static_cast<size_t>(y->num_elements()); ++image) {
    const double mean =
        x.dtype() == DType::kInt8 ? mean_of(TypeTag<int8_t>(), image) : mean_of(TypeTag<uint8_t>(), image);
    BytesOf(*y)[image] = QuantizeTo(mean, to, x.dtype());
  }
  return absl::OkStatus();
}

constexpr KernelRow Row(absl::string_view op_type, KernelFunction function, RefusalFunction refusal) {
  return {.op_type = op_type, .function = function, .domain = "com.microsoft", .refusal = refusal, .family = "loops"};
}

constexpr KernelRow kRows[] = {
    Row("QLinearAdd", Pairs<&QuantizedLoops::add_uint8, &QuantizedLoops::add_int8>, WhyNotQuantizedPair),
    Row("QLinearConcat", QLinearConcat, WhyNotQuantizedConcat),
    Row("QLinearGlobalAveragePool", QLinearGlobalAveragePool, WhyNotQuantizedMean),
    Row("QLinearLeakyRelu", LookUp, WhyNotQuantizedOne),
    Row("QLinearMul", Pairs<&QuantizedLoops::multiply_uint8, &QuantizedLoops::multiply_int8>, WhyNotQuantizedPair),
    Row("QLinearSigmoid", LookUp, WhyNotQuantizedOne),
};

}  // namespace

absl::Span<const KernelRow> QuantizedLoopKernels() { return kRows; }

}  // namespace amp
