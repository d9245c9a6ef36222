// Matrix products and convolutions of 8-bit integers on a device: MatMulInteger, QLinearMatMul, ConvInteger,
// QLinearConv. Sums are int32 and wrap. They are requantised with the same bits as by the processor's kernels.
#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "ir/base/status.h"
#include "runtime/device/convolution_shape.h"
#include "runtime/device/families.h"
#include "runtime/device/image_axes.h"
#include "runtime/device/raw/integers.h"
#include "runtime/device/storage.h"
#include "runtime/kernel/product_shape.h"
#include "runtime/kernel/shape_math.h"

namespace amp {
namespace {

// The input ports of an operator. `b`: for a convolution the weights.
struct Ports {
  size_t a, a_zero, b, b_zero;
};
constexpr Ports kOfInteger = {0, 2, 1, 3};
constexpr Ports kOfQLinear = {0, 2, 3, 5};
constexpr size_t kScaleA = 1, kScaleB = 4, kScaleY = 6, kZeroY = 7, kBias = 8;

bool IsByte(DType type) { return type == DType::kInt8 || type == DType::kUint8; }

bool IsOneOrEach(const Tensor& x, int64_t count) {
  return x.num_elements() == 1 || (x.rank() == 1 && x.dim(0) == count);
}

// `columns`: number of columns or filters, which may have zero points of their own.
Refusal WhyNotZeroPoints(const KernelContext& context, const Ports& ports, int64_t columns) {
  const Tensor &a_zero = context.Input(ports.a_zero), &b_zero = context.Input(ports.b_zero);
  if (context.HasInput(ports.a_zero)) {
    if (a_zero.dtype() != context.Input(ports.a).dtype()) return "zero points of another type";
    if (a_zero.num_elements() != 1) return "zero points by row";
  }
  if (!context.HasInput(ports.b_zero)) return {};
  if (b_zero.dtype() != context.Input(ports.b).dtype()) return "zero points of another type";
  return IsOneOrEach(b_zero, columns) ? nullptr : "zero points that do not fit";
}

bool IsScale(const Tensor& x) {
  if (x.dtype() != DType::kFloat32) return false;
  const auto is_positive = [](float scale) { return scale > 0 && scale <= std::numeric_limits<float>::max(); };
  return std::all_of(x.elements<float>().begin(), x.elements<float>().end(), is_positive);
}

Refusal WhyNotScales(const KernelContext& context, int64_t columns) {
  const Tensor &a = context.Input(kScaleA), &b = context.Input(kScaleB), &y = context.Input(kScaleY);
  if (!IsScale(a) || !IsScale(b) || !IsScale(y)) return "scales that are not float32, or not above 0";
  if (a.num_elements() != 1 || y.num_elements() != 1 || !IsOneOrEach(b, columns)) return "scales that do not fit";
  const Tensor& zero = context.Input(kZeroY);
  return IsByte(zero.dtype()) && zero.num_elements() == 1 ? nullptr : "a result of another type than 8 bits";
}

device::CentredIntegers Centred(const Tensor& x, const Tensor& zero) {
  return {.elements = x.data(),
          .zero_point = zero.data(),
          .storage = StorageOf(x.dtype()),
          .step = zero.num_elements() > 1 ? 1U : 0U};
}

// ---- requantising sums ----------------------------------------------------------------------------------------------

// One factor for each column or filter, in the device's memory.
struct Factors {
  std::shared_ptr<const void> elements;
  device::QuantizedNumbers of_y;
};

// Selects the order of the operations, which differs between the processor's kernels for products and for convolutions.
enum class Kind { kProduct, kConvolution };

absl::StatusOr<Factors> FactorsOf(KernelContext& context, Kind kind, int64_t columns) {
  const auto a = static_cast<double>(context.Input(kScaleA).elements<float>()[0]),
             y = static_cast<double>(context.Input(kScaleY).elements<float>()[0]);
  std::vector<double> factors;
  for (const float scale : context.Input(kScaleB).elements<float>()) {
    const auto b = static_cast<double>(scale);
    factors.push_back(kind == Kind::kProduct ? a / y * b : a * b / y);
  }
  factors.resize(static_cast<size_t>(columns), factors[0]);
  const Tensor& zero = context.Input(kZeroY);
  const int32_t zero_point =
      zero.dtype() == DType::kInt8 ? zero.elements<int8_t>()[0] : int32_t{zero.elements<uint8_t>()[0]};
  AMP_ASSIGN_OR_RETURN(std::shared_ptr<const void> elements, ShareList(*context.resources().device, factors));
  return Factors{.elements = std::move(elements),
                 .of_y = {.scale = 1, .zero_point = zero_point, .storage = StorageOf(zero.dtype())}};
}

// ---- products -------------------------------------------------------------------------------------------------------

std::optional<ProductShape> ShapeOf(const KernelContext& context, const Ports& ports) {
  return ShapeOfProduct(context.Input(ports.a).dims(), context.Input(ports.b).dims(), /*transposes_a=*/false,
                        /*transposes_b=*/false);
}

Refusal WhyNotProduct(const KernelContext& context, const Ports& ports) {
  if (!IsByte(context.Input(ports.a).dtype()) || !IsByte(context.Input(ports.b).dtype())) return "not of 8 bits";
  const std::optional<ProductShape> shape = ShapeOf(context, ports);
  return shape.has_value() ? WhyNotZeroPoints(context, ports, shape->n) : "shapes that are not multiplied there";
}

Refusal WhyNotMatMulInteger(const KernelContext& context) { return WhyNotProduct(context, kOfInteger); }

Refusal WhyNotQLinearMatMul(const KernelContext& context) {
  if (const Refusal refusal = WhyNotProduct(context, kOfQLinear)) return refusal;
  return WhyNotScales(context, ShapeOf(context, kOfQLinear)->n);
}

// Returns where each matrix of the batch begins in a and b.
device::StridedShape<2> BatchOf(const ProductShape& shape) {
  const auto batch_of = [](const Dims& dims) { return Dims(dims.begin(), dims.end() - 2); };
  Broadcast batch = {.dims = batch_of(shape.y), .strides = {}};
  for (const Dims& dims : {shape.a, shape.b}) {
    Dims strides = BroadcastStrides(batch_of(dims), batch.dims);
    for (int64_t& stride : strides) stride *= dims[dims.size() - 2] * dims.back();
    batch.strides.push_back(std::move(strides));
  }
  return amp::ShapeOf<2>(batch);
}

void Multiply(const KernelContext& context, const Ports& ports, const ProductShape& shape,
              const device::SumResult& result) {
  context.resources().device->Start(
      device::MultiplyIntegersArguments{.a = Centred(context.Input(ports.a), context.Input(ports.a_zero)),
                                        .b = Centred(context.Input(ports.b), context.Input(ports.b_zero)),
                                        .result = result,
                                        .count = static_cast<uint32_t>(ElementsBetween(shape.y, 0, shape.y.size())),
                                        .m = static_cast<uint32_t>(shape.m),
                                        .n = static_cast<uint32_t>(shape.n),
                                        .k = static_cast<uint32_t>(shape.k),
                                        .batch = BatchOf(shape)});
}

absl::Status MatMulInteger(KernelContext& context) {
  context.Report("integer product", DType::kInt32);
  const ProductShape shape = *ShapeOf(context, kOfInteger);
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, DType::kInt32, shape.y_final));
  Multiply(context, kOfInteger, shape, {.y = y->mutable_data(), .factors = nullptr, .of_y = {}});
  return absl::OkStatus();
}

absl::Status QLinearMatMul(KernelContext& context) {
  context.Report("integer product", DType::kInt32);
  const ProductShape shape = *ShapeOf(context, kOfQLinear);
  AMP_ASSIGN_OR_RETURN(const Factors factors, FactorsOf(context, Kind::kProduct, shape.n));
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, context.Input(kZeroY).dtype(), shape.y_final));
  Multiply(
      context, kOfQLinear, shape,
      {.y = y->mutable_data(), .factors = static_cast<const double*>(factors.elements.get()), .of_y = factors.of_y});
  return absl::OkStatus();
}

// ---- convolutions ---------------------------------------------------------------------------------------------------

absl::StatusOr<ConvolutionShape> ShapeOfIntegers(const KernelContext& context, const Ports& ports) {
  return ShapeOfConvolution(context.node(), context.Input(ports.a), context.Input(ports.b), ConvolutionKind::kPlain);
}

Refusal WhyNotIntegerConvolution(const KernelContext& context, const Ports& ports) {
  const Tensor &x = context.Input(ports.a), &w = context.Input(ports.b);
  if (!IsByte(x.dtype()) || !IsByte(w.dtype())) return "not of 8 bits";
  if (x.rank() < 3 || x.rank() > 2 + device::kMaxPoolAxes) return "no images of 1 to 3 axes";
  if (x.num_elements() == 0 || w.num_elements() == 0) return "nothing to convolve";
  const absl::StatusOr<ConvolutionShape> shape = ShapeOfIntegers(context, ports);
  if (!shape.ok()) return "weights or a window that do not fit";
  if (!std::all_of(shape->window.begin(), shape->window.end(), FitsDeviceAxis)) return "windows that are too large";
  return WhyNotZeroPoints(context, ports, shape->filters);
}

Refusal WhyNotConvInteger(const KernelContext& context) { return WhyNotIntegerConvolution(context, kOfInteger); }

Refusal WhyNotQLinearConv(const KernelContext& context) {
  if (const Refusal refusal = WhyNotIntegerConvolution(context, kOfQLinear)) return refusal;
  const int64_t filters = context.Input(kOfQLinear.b).dim(0);
  if (const Refusal refusal = WhyNotScales(context, filters)) return refusal;
  if (!context.HasInput(kBias)) return {};
  const Tensor& bias = context.Input(kBias);
  return bias.dtype() == DType::kInt32 && bias.dims() == Dims{filters} ? nullptr : "a bias that does not fit";
}

void Convolve(const KernelContext& context, const Ports& ports, const ConvolutionShape& shape,
              const device::SumResult& result) {
  device::ConvolveIntegersArguments convolve = {
      .places = {.x = nullptr,
                 .w = nullptr,
                 .bias = nullptr,
                 .y = nullptr,
                 .storage = device::Storage::kOther,
                 .stored_as = device::Storage::kOther,
                 .count = static_cast<uint32_t>(ElementsBetween(shape.y, 0, shape.y.size())),
                 .channels = static_cast<uint32_t>(shape.channels),
                 .filters = static_cast<uint32_t>(shape.filters),
                 .group_channels = static_cast<uint32_t>(shape.channels / shape.groups),
                 .group_filters = static_cast<uint32_t>(shape.filters / shape.groups),
                 .is_transposed = false,
                 .axes = {}},
      .x = Centred(context.Input(ports.a), context.Input(ports.a_zero)),
      .w = Centred(context.Input(ports.b), context.Input(ports.b_zero)),
      .bias = context.HasInput(kBias) ? static_cast<const int32_t*>(context.Input(kBias).data()) : nullptr,
      .result = result};
  SetDeviceAxes(shape.window, convolve.places.axes);
  if (convolve.places.count > 0) context.resources().device->Start(convolve);
}

absl::Status ConvInteger(KernelContext& context) {
  context.Report("integer convolution", DType::kInt32);
  AMP_ASSIGN_OR_RETURN(const ConvolutionShape shape, ShapeOfIntegers(context, kOfInteger));
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, DType::kInt32, shape.y));
  Convolve(context, kOfInteger, shape, {.y = y->mutable_data(), .factors = nullptr, .of_y = {}});
  return absl::OkStatus();
}

absl::Status QLinearConv(KernelContext& context) {
  context.Report("integer convolution", DType::kInt32);
  AMP_ASSIGN_OR_RETURN(const ConvolutionShape shape, ShapeOfIntegers(context, kOfQLinear));
  AMP_ASSIGN_OR_RETURN(const Factors factors, FactorsOf(context, Kind::kConvolution, shape.filters));
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, context.Input(kZeroY).dtype(), shape.y));
  Convolve(
      context, kOfQLinear, shape,
      {.y = y->mutable_data(), .factors = static_cast<const double*>(factors.elements.get()), .of_y = factors.of_y});
  return absl::OkStatus();
}

constexpr PortSet kScales = {kScaleA, kScaleB, kScaleY, kZeroY};

constexpr KernelRow kRows[] = {
    DeviceRow("MatMulInteger", MatMulInteger, WhyNotMatMulInteger),
    DeviceRow("QLinearMatMul", QLinearMatMul, WhyNotQLinearMatMul, kScales),
    DeviceRow("ConvInteger", ConvInteger, WhyNotConvInteger),
    DeviceRow("QLinearConv", QLinearConv, WhyNotQLinearConv, kScales),
};

}  // namespace

absl::Span<const KernelRow> IntegerDeviceKernels() { return kRows; }

}  // namespace amp
