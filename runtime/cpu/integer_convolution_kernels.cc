// ConvInteger and QLinearConv by oneDNN's channels-last convolutions of 8-bit integers. Their sums of products of x -
// x_zero with w are exact, in int32.
//
// oneDNN handles the zero point of x, which is also the value of the padding, and signed weights without a zero point.
// Unsigned weights are shifted by 128, and the effect of the weights' zero points on the sums is subtracted afterwards.
#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "ir/base/status.h"
#include "runtime/cpu/families.h"
#include "runtime/cpu/library_window.h"
#include "runtime/cpu/make_primitive.h"
#include "runtime/cpu/prepared.h"
#include "runtime/cpu/window_sums.h"
#include "runtime/forms/convolution.h"
#include "runtime/kernel/layout.h"
#include "runtime/kernel/parallel_for.h"
#include "runtime/kernel/shape_math.h"
#include "runtime/loops/best_loops.h"
#include "runtime/onednn/open_library.h"

namespace amp {
namespace {

// The input ports of an operator.
struct Ports {
  size_t x, x_zero, w, w_zero;
};
constexpr Ports kOfConvInteger = {0, 2, 1, 3};
constexpr Ports kOfQLinear = {0, 2, 3, 5};
constexpr size_t kScaleX = 1, kScaleW = 4, kScaleY = 6, kZeroY = 7, kBias = 8;

constexpr uint8_t kHalfRange = 128;  // offset between unsigned and signed 8 bits

struct PreparedIntegers : PreparedOperation {
  bool has_bias = false;
  Window window;
  int64_t groups = 1;
};

bool Is8Bits(DType dtype) { return dtype == DType::kUint8 || dtype == DType::kInt8; }

// Returns the bytes of a tensor of int8 or uint8.
absl::Span<const uint8_t> BitsOf(const Tensor& x) {
  return {reinterpret_cast<const uint8_t*>(x.bytes().data()), x.bytes().size()};
}

int32_t NumberOf(const Tensor& x, size_t i) {
  return x.dtype() == DType::kUint8 ? int32_t{BitsOf(x)[i]} : int32_t{static_cast<int8_t>(BitsOf(x)[i])};
}

bool IsOneOrPerFilter(const Tensor& x, int64_t filters) {
  return x.num_elements() == 1 || (x.rank() == 1 && x.dim(0) == filters);
}

Refusal WhyNotIntegers(const KernelContext& context, const Ports& ports) {
  const onednn::Library* library = onednn::OpenLibrary().library;
  if (library == nullptr) return "oneDNN is not there";
  if (!library->ComputesIn(DType::kInt8)) return "the processor has no dot products of 8 bits";
  const Tensor &x = context.Input(ports.x), &w = context.Input(ports.w);
  if (!Is8Bits(x.dtype()) || !Is8Bits(w.dtype())) return "not of 8 bits";
  if (x.rank() < 3 || x.rank() > 5 || w.rank() != x.rank()) return "not of one to three spatial axes";
  if (!context.IsConstantInput(ports.w)) return "weights that are no constant";
  if (x.num_elements() == 0 || w.num_elements() == 0) return "no elements";
  if (context.HasInput(ports.x_zero)) {
    const Tensor& zero = context.Input(ports.x_zero);
    if (zero.dtype() != x.dtype() || zero.num_elements() != 1) return "a zero point of another type or shape";
  }
  if (!context.HasInput(ports.w_zero)) return {};
  const Tensor& zeros = context.Input(ports.w_zero);
  if (zeros.dtype() != w.dtype()) return "zero points of another type than the weights";
  return IsOneOrPerFilter(zeros, w.dim(0)) ? nullptr : "zero points of another shape";
}

Refusal WhyNotConvInteger(const KernelContext& context) { return WhyNotIntegers(context, kOfConvInteger); }

Refusal WhyNotQLinearConv(const KernelContext& context) {
  if (const Refusal refusal = WhyNotIntegers(context, kOfQLinear)) return refusal;
  const auto is_positive = [](float scale) { return scale > 0 && scale <= std::numeric_limits<float>::max(); };
  for (const size_t port : {kScaleX, kScaleW, kScaleY}) {
    if (context.Input(port).dtype() != DType::kFloat32) return "scales that are not float32";
    const auto scales = context.Input(port).elements<float>();
    if (!std::all_of(scales.begin(), scales.end(), is_positive)) return "a scale that is not above 0";
  }
  const int64_t filters = context.Input(kOfQLinear.w).dim(0);
  const bool are_single = context.Input(kScaleX).num_elements() == 1 && context.Input(kScaleY).num_elements() == 1 &&
                          context.Input(kZeroY).num_elements() == 1;
  if (!are_single || !IsOneOrPerFilter(context.Input(kScaleW), filters)) return "scales of another shape";
  if (!Is8Bits(context.Input(kZeroY).dtype())) return "a result of another type";
  if (!context.HasInput(kBias)) return {};
  const Tensor& bias = context.Input(kBias);
  return bias.dtype() == DType::kInt32 && bias.dims() == Dims{filters} ? nullptr : "another bias";
}

// Returns the zero points by filter, for the weights as signed numbers.
std::vector<int32_t> ZeroPointsOfWeights(const KernelContext& context, const Ports& ports) {
  const Tensor& w = context.Input(ports.w);
  const int32_t moved_by = w.dtype() == DType::kUint8 ? kHalfRange : 0;
  std::vector<int32_t> zeros;
  const size_t given =
      context.HasInput(ports.w_zero) ? static_cast<size_t>(context.Input(ports.w_zero).num_elements()) : 0;
  zeros.reserve(given);
  for (size_t i = 0; i < given; ++i) zeros.push_back(NumberOf(context.Input(ports.w_zero), i) - moved_by);
  if (zeros.empty()) zeros.push_back(-moved_by);
  zeros.resize(static_cast<size_t>(w.dim(0)), zeros[0]);
  return zeros;
}

// Returns the weights as signed numbers: unsigned ones are shifted by 128.
absl::StatusOr<Tensor> SignedWeights(const Tensor& w) {
  AMP_ASSIGN_OR_RETURN(Tensor result, Tensor::Create(DType::kInt8, w.dims()));
  const auto bits = BitsOf(w);
  const uint8_t mask = w.dtype() == DType::kUint8 ? kHalfRange : 0;
  std::transform(bits.begin(), bits.end(), result.mutable_elements<int8_t>().begin(),
                 [mask](uint8_t b) { return static_cast<int8_t>(b ^ mask); });
  return result;
}

PreparedOperations::Made Prepare(KernelContext& context, const Ports& ports) {
  const Node& node = context.node();
  const Tensor &x = context.Input(ports.x), &w = context.Input(ports.w);
  AMP_RETURN_IF_ERROR(CheckConvolution(node, x, w));
  AMP_ASSIGN_OR_RETURN(const int64_t groups, ReadGroup(node, x.dim(1)));
  if (w.dim(1) != x.dim(1) / groups || w.dim(0) % groups != 0) return Refusal("channels");
  AMP_ASSIGN_OR_RETURN(const Window window, SlideWindow(node, SpatialDims(x), SpatialDims(w)));
  auto operation = std::make_shared<PreparedIntegers>();
  operation->y_dims = OutputDims(window, x.dim(0), w.dim(0));
  if (ElementsBetween(operation->y_dims, 0, operation->y_dims.size()) == 0) return Refusal("no elements");
  operation->has_bias = context.HasInput(kBias);
  operation->window = window;
  operation->groups = groups;
  const SpatialView view = ViewOf(window);
  AMP_ASSIGN_OR_RETURN(operation->primitive,
                       MakeConvolution({.x = ChannelsLast(x.dtype(), x.dims(), view),
                                        .w = GroupedWeights(DType::kInt8, w.dims(), groups, view),
                                        .y = ChannelsLast(DType::kInt32, operation->y_dims, view),
                                        .bias = operation->has_bias ? onednn::Operand{DType::kInt32, {w.dim(0)}, {1}}
                                                                    : onednn::Operand{},
                                        .strides = Numbers(window, &WindowAxis::stride, 1),
                                        .dilations = Numbers(window, &WindowAxis::dilation, 1),
                                        .pads_begin = Numbers(window, &WindowAxis::pad_begin, 0),
                                        .pads_end = Numbers(window, &WindowAxis::pad_end, 0),
                                        .has_x_zero = true}));
  AMP_ASSIGN_OR_RETURN(operation->weights, PackedConstant(context, ports.w, *operation->primitive, DType::kInt8,
                                                          DType::kInt8, [&] { return SignedWeights(w); }));
  return operation;
}

// Returns the sums of products in int32, channels-last.
absl::StatusOr<Tensor> Convolve(KernelContext& context, const Ports& ports) {
  std::vector<int64_t> key = context.Input(ports.x).dims();
  AMP_ASSIGN_OR_RETURN(const auto prepared,
                       context.State<PreparedOperations>().Get(key, [&] { return Prepare(context, ports); }));
  const auto& operation = static_cast<const PreparedIntegers&>(*prepared);
  AMP_ASSIGN_OR_RETURN(const Tensor x, InLayout(context.Input(ports.x), Layout::kChannelsLast, context.memory()));
  AMP_ASSIGN_OR_RETURN(Tensor sums, context.MakeScratch(DType::kInt32, operation.y_dims));
  AMP_ASSIGN_OR_RETURN(
      Tensor scratch, context.MakeScratch(DType::kUint8, {static_cast<int64_t>(operation.primitive->scratch_bytes())}));
  const int32_t x_zero = context.HasInput(ports.x_zero) ? NumberOf(context.Input(ports.x_zero), 0) : 0;
  onednn::Primitive::Arguments arguments;
  arguments.a = x.bytes().data();
  arguments.a_zero = &x_zero;
  arguments.b = operation.weights.bytes().data();
  arguments.y = sums.mutable_bytes().data();
  arguments.scratch = scratch.mutable_bytes().data();
  if (operation.has_bias) arguments.bias = context.Input(kBias).bytes().data();
  if (!operation.primitive->Run(arguments)) return absl::InternalError("oneDNN failed");
  context.Report(operation.primitive->implementation(), DType::kInt32);
  sums.set_layout(Layout::kChannelsLast);
  const std::vector<int32_t> w_zeros = ZeroPointsOfWeights(context, ports);
  if (std::any_of(w_zeros.begin(), w_zeros.end(), [](int32_t zero) { return zero != 0; })) {
    AMP_RETURN_IF_ERROR(SubtractZeroPoints(context, x, x_zero, operation.window, operation.groups, w_zeros, sums));
  }
  return sums;
}

absl::Status ConvInteger(KernelContext& context) {
  AMP_ASSIGN_OR_RETURN(Tensor sums, Convolve(context, kOfConvInteger));
  context.SetOutput(0, std::move(sums));
  return absl::OkStatus();
}

// Returns the factor by which the sums of each filter are multiplied.
std::vector<double> FactorsOf(const KernelContext& context) {
  const double common = static_cast<double>(context.Input(kScaleX).elements<float>()[0]),
               result = static_cast<double>(context.Input(kScaleY).elements<float>()[0]);
  std::vector<double> factors;
  for (const float scale : context.Input(kScaleW).elements<float>()) {
    factors.push_back(common * static_cast<double>(scale) / result);
  }
  factors.resize(static_cast<size_t>(context.Input(kOfQLinear.w).dim(0)), factors[0]);
  return factors;
}

template <typename T>
void Requantize(const KernelContext& context, QuantizedLoops::Requantize<T> requantize, const Tensor& sums, Tensor& y) {
  const std::vector<double> factors = FactorsOf(context);
  const size_t filters = factors.size();
  const auto zero = static_cast<float>(context.Input(kZeroY).elements<T>()[0]);
  const int32_t* const in = sums.elements<int32_t>().data();
  T* const out = y.mutable_elements<T>().data();
  ParallelFor(static_cast<size_t>(sums.num_elements()) / filters, filters, [&](const Share& share) {
    for (size_t at = share.first * filters; at < share.end * filters; at += filters) {
      requantize(in + at, factors.data(), out + at, filters, zero);
    }
  });
}

absl::Status QLinearConv(KernelContext& context) {
  AMP_ASSIGN_OR_RETURN(const Tensor sums, Convolve(context, kOfQLinear));
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, context.Input(kZeroY).dtype(), sums.dims()));
  y->set_layout(Layout::kChannelsLast);
  if (y->dtype() == DType::kUint8) {
    Requantize<uint8_t>(context, BestLoops().quantized.requantize_uint8, sums, *y);
  } else {
    Requantize<int8_t>(context, BestLoops().quantized.requantize_int8, sums, *y);
  }
  return absl::OkStatus();
}

constexpr KernelRow kRows[] = {
    {.op_type = "ConvInteger",
     .function = ConvInteger,
     .refusal = WhyNotConvInteger,
     .family = "onednn",
     .takes_channels_last = true},
    {.op_type = "QLinearConv",
     .function = QLinearConv,
     .refusal = WhyNotQLinearConv,
     .family = "onednn",
     .takes_channels_last = true},
};

}  // namespace

absl::Span<const KernelRow> LibraryIntegerConvolutionKernels() { return kRows; }

}  // namespace amp
