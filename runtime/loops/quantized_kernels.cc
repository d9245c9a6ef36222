// com.microsoft's arithmetic on 8-bit quantised numbers, element by element: QLinearAdd, QLinearMul, the activations,
// QLinearConcat, QLinearGlobalAveragePool. To the last bit what the reference gives: a function of one number is a table of
// 256, and sums and products are taken in float64.
#include <array>
#include <cmath>
#include <limits>
#include <optional>

#include "ir/base/status.h"
#include "runtime/kernel/broadcast.h"
#include "runtime/kernel/doubles.h"
#include "runtime/kernel/shape_math.h"
#include "runtime/loops/best_loops.h"
#include "runtime/loops/families.h"
#include "runtime/loops/row_parts.h"
#include "runtime/reference/fused_activation.h"

namespace amp {
namespace {

bool IsByte(DType type) { return type == DType::kInt8 || type == DType::kUint8; }

// ---- scales and zero points -----------------------------------------------------------------------------------------

// Inputs `scale_port` and the one behind it, for numbers of `dtype`; nothing where they are no such.
std::optional<Quantized> ReadQuantized(const KernelContext& context, size_t scale_port, DType dtype) {
  const Tensor& scale = context.Input(scale_port);
  if (scale.dtype() != DType::kFloat32 || scale.num_elements() != 1) return std::nullopt;
  Quantized result{.scale = static_cast<double>(scale.elements<float>()[0]), .zero_point = 0};
  if (!(result.scale > 0) || !std::isfinite(result.scale)) return std::nullopt;
  if (!context.HasInput(scale_port + 1)) return result;
  const Tensor& zero = context.Input(scale_port + 1);
  if (zero.dtype() != dtype || zero.num_elements() != 1) return std::nullopt;
  result.zero_point = dtype == DType::kInt8 ? zero.elements<int8_t>()[0] : zero.elements<uint8_t>()[0];
  return result;
}

constexpr char kNoBytes[] = "another type than 8 bits";
constexpr char kOtherScales[] = "scales or zero points of another kind";

// Whether the numbers at `port`, whose scale and zero point are behind them, are of `dtype`.
const char* WhyNotNumbers(const KernelContext& context, size_t port, DType dtype) {
  if (!IsByte(dtype) || context.Input(port).dtype() != dtype) return kNoBytes;
  return ReadQuantized(context, port + 1, dtype).has_value() ? nullptr : kOtherScales;
}

// The numbers' own bits, whichever of the two types it is.
const uint8_t* BytesOf(const Tensor& x) { return reinterpret_cast<const uint8_t*>(x.bytes().data()); }
uint8_t* BytesOf(Tensor& x) { return reinterpret_cast<uint8_t*>(x.mutable_bytes().data()); }

double ValueOf(uint8_t bits, DType dtype) {
  return dtype == DType::kInt8 ? static_cast<double>(static_cast<int8_t>(bits)) : static_cast<double>(bits);
}

uint8_t QuantizeTo(double x, const Quantized& y, DType dtype) {
  const bool is_signed = dtype == DType::kInt8;
  const double low = is_signed ? -128 : 0, high = is_signed ? 127 : 255;
  const auto quotient = static_cast<double>(static_cast<float>(x / y.scale));
  const double shifted = std::nearbyint(quotient) + y.zero_point;
  return static_cast<uint8_t>(static_cast<int>(shifted < low ? low : shifted > high ? high : shifted));
}

using Table = std::array<uint8_t, 256>;

// What `of` makes of every number, quantised again.
template <typename Of>
Table TableOf(const Quantized& from, const Quantized& to, DType dtype, Of of) {
  Table table;
  for (size_t i = 0; i < table.size(); ++i) {
    const double number = (ValueOf(static_cast<uint8_t>(i), dtype) - from.zero_point) * from.scale;
    table[i] = QuantizeTo(of(number), to, dtype);
  }
  return table;
}

// ---- pairs ----------------------------------------------------------------------------------------------------------

constexpr size_t kA = 0, kB = 3, kScaleY = 6;

const char* WhyNotPair(const KernelContext& context) {
  const DType dtype = context.Input(kA).dtype();
  for (const size_t port : {kA, kB}) {
    if (const char* reason = WhyNotNumbers(context, port, dtype)) return reason;
  }
  return ReadQuantized(context, kScaleY, dtype).has_value() ? nullptr : kOtherScales;
}

template <typename T>
absl::Status OfPairs(KernelContext& context, QuantizedLoops::Loop<T> loop) {
  const Tensor &a = context.Input(kA), &b = context.Input(kB);
  Broadcast broadcast;
  AMP_ASSIGN_OR_RETURN(broadcast.dims, BroadcastDims(a.dims(), b.dims()));
  broadcast.strides = {BroadcastStrides(a.dims(), broadcast.dims), BroadcastStrides(b.dims(), broadcast.dims)};
  const QuantizedPair pair{*ReadQuantized(context, kA + 1, a.dtype()), *ReadQuantized(context, kB + 1, a.dtype()),
                           *ReadQuantized(context, kScaleY, a.dtype())};
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
  return context.Input(kA).dtype() == DType::kUint8 ? OfPairs<uint8_t>(context, loops.quantized.*kUnsigned)
                                                    : OfPairs<int8_t>(context, loops.quantized.*kSigned);
}

// ---- functions of one number ----------------------------------------------------------------------------------------

constexpr size_t kX = 0, kScaleOfOne = 3;

const char* WhyNotOne(const KernelContext& context) {
  const DType dtype = context.Input(kX).dtype();
  if (const char* reason = WhyNotNumbers(context, kX, dtype)) return reason;
  return ReadQuantized(context, kScaleOfOne, dtype).has_value() ? nullptr : kOtherScales;
}

template <typename Of>
absl::Status LookUp(KernelContext& context, Of of) {
  const Loops& loops = BestLoops();
  context.Report(loops.name, DType::kFloat64);
  const Tensor& x = context.Input(kX);
  const Table table = TableOf(*ReadQuantized(context, kX + 1, x.dtype()),
                              *ReadQuantized(context, kScaleOfOne, x.dtype()), x.dtype(), of);
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutputLike(0, kX));
  const uint8_t* const from = BytesOf(x);
  uint8_t* const to = BytesOf(*y);
  ParallelFor(static_cast<size_t>(x.num_elements()), 1, [&](const Share& share) {
    loops.quantized.look_up(from + share.first, to + share.first, share.end - share.first, table.data());
  });
  return absl::OkStatus();
}

absl::Status QLinearLeakyRelu(KernelContext& context) {
  const double alpha = GetFloat(context.node(), "alpha", 0.01f);
  return LookUp(context, [alpha](double x) { return x < 0 ? alpha * x : x; });
}

absl::Status QLinearSigmoid(KernelContext& context) { return LookUp(context, SigmoidOf); }

// ---- joining --------------------------------------------------------------------------------------------------------

constexpr size_t kFirstPart = 2, kPortsOfPart = 3;

const char* WhyNotConcat(const KernelContext& context) {
  const Tensor& first = context.Input(kFirstPart);
  const absl::StatusOr<size_t> axis = NormalizeAxis(GetInt(context.node(), "axis", 1), first.rank());
  if (!axis.ok()) return "no axis of the inputs";
  if (!ReadQuantized(context, 0, first.dtype()).has_value()) return kOtherScales;
  int64_t size = 0;
  for (size_t port = kFirstPart; port < context.num_inputs(); port += kPortsOfPart) {
    if (const char* reason = WhyNotNumbers(context, port, first.dtype())) return reason;
    const Tensor& part = context.Input(port);
    Dims like = part.dims();
    if (like.size() == first.rank()) like[*axis] = first.dim(*axis);
    if (like != first.dims()) return "shapes that do not fit";
    size += part.dim(*axis);
    if (size > kMaxElements) return "too many elements";
  }
  return nullptr;
}

absl::Status QLinearConcat(KernelContext& context) {
  const Loops& loops = BestLoops();
  context.Report(loops.name, DType::kFloat64);
  const Tensor& first = context.Input(kFirstPart);
  AMP_ASSIGN_OR_RETURN(const size_t axis, NormalizeAxis(GetInt(context.node(), "axis", 1), first.rank()));
  Dims dims = first.dims();
  dims[axis] = 0;
  for (size_t port = kFirstPart; port < context.num_inputs(); port += kPortsOfPart) {
    dims[axis] += context.Input(port).dim(axis);
  }
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, first.dtype(), dims));
  if (y->num_elements() == 0) return absl::OkStatus();
  const AxisView whole(dims, axis);
  const Quantized to = *ReadQuantized(context, 0, first.dtype());
  uint8_t* out = BytesOf(*y);
  for (size_t port = kFirstPart; port < context.num_inputs(); port += kPortsOfPart) {
    const Tensor& part = context.Input(port);
    const Table table =
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

const char* WhyNotGlobalAverage(const KernelContext& context) {
  if (context.Input(kX).rank() < 3 || context.Input(kX).num_elements() == 0) return "no images";
  if (GetInt(context.node(), "channels_last", 0) != 0) return "channels last";
  return WhyNotOne(context);
}

absl::Status QLinearGlobalAveragePool(KernelContext& context) {
  context.Report(BestLoops().name, DType::kFloat64);
  const Tensor& x = context.Input(kX);
  Dims dims(x.rank(), 1);
  dims[0] = x.dim(0);
  dims[1] = x.dim(1);
  const auto pixels = ElementsBetween(x.dims(), 2, x.rank());
  const Quantized from = *ReadQuantized(context, kX + 1, x.dtype()),
                  to = *ReadQuantized(context, kScaleOfOne, x.dtype());
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

constexpr KernelRow Row(absl::string_view op_type, KernelFunction function,
                        const char* (*why_not)(const KernelContext&)) {
  return {.op_type = op_type, .function = function, .domain = "com.microsoft", .why_not = why_not, .family = "loops"};
}

constexpr KernelRow kRows[] = {
    Row("QLinearAdd", Pairs<&QuantizedLoops::add_uint8, &QuantizedLoops::add_int8>, WhyNotPair),
    Row("QLinearConcat", QLinearConcat, WhyNotConcat),
    Row("QLinearGlobalAveragePool", QLinearGlobalAveragePool, WhyNotGlobalAverage),
    Row("QLinearLeakyRelu", QLinearLeakyRelu, WhyNotOne),
    Row("QLinearMul", Pairs<&QuantizedLoops::multiply_uint8, &QuantizedLoops::multiply_int8>, WhyNotPair),
    Row("QLinearSigmoid", QLinearSigmoid, WhyNotOne),
};

}  // namespace

absl::Span<const KernelRow> QuantizedLoopKernels() { return kRows; }

}  // namespace amp
