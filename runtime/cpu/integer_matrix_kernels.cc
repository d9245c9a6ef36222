// MatMulInteger and QLinearMatMul by oneDNN's products of 8-bit integers.
#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "ir/base/status.h"
#include "runtime/cpu/families.h"
#include "runtime/cpu/integer_product.h"
#include "runtime/cpu/prepared.h"
#include "runtime/kernel/parallel_for.h"
#include "runtime/loops/best_loops.h"
#include "runtime/onednn/open_library.h"

namespace amp {
namespace {

// The input ports of an operator.
struct Ports {
  size_t a, a_zero, b, b_zero;
};
constexpr Ports kOfMatMulInteger = {0, 2, 1, 3};
constexpr Ports kOfQLinear = {0, 2, 3, 5};
constexpr size_t kScaleA = 1, kScaleB = 4, kScaleY = 6, kZeroY = 7;

bool Is8Bits(DType dtype) { return dtype == DType::kUint8 || dtype == DType::kInt8; }

bool IsOneOrPerColumn(const KernelContext& context, size_t port, int64_t columns) {
  if (!context.HasInput(port)) return true;
  const Tensor& x = context.Input(port);
  return x.num_elements() == 1 || (x.rank() == 1 && x.dim(0) == columns);
}

Refusal WhyNotIntegers(const KernelContext& context, const Ports& ports) {
  const onednn::Library* library = onednn::OpenLibrary().library;
  if (library == nullptr) return "oneDNN is not there";
  if (!library->ComputesIn(DType::kInt8)) return "the processor has no dot products of 8 bits";
  const Tensor &a = context.Input(ports.a), &b = context.Input(ports.b);
  if (!Is8Bits(a.dtype()) || !Is8Bits(b.dtype())) return "not of 8 bits";
  if (!context.IsConstantInput(ports.b) || b.rank() != 2) return "weights that are no constant matrix";
  if (a.rank() < 2 || a.num_elements() == 0 || b.num_elements() == 0) return "no matrices";
  if (a.dim(a.rank() - 1) != b.dim(0)) return "shapes that do not fit";
  if (context.HasInput(ports.a_zero) && context.Input(ports.a_zero).num_elements() != 1) return "zero points by row";
  for (const auto& [port, of] : {std::pair(ports.a_zero, ports.a), {ports.b_zero, ports.b}}) {
    if (context.HasInput(port) && context.Input(port).dtype() != context.Input(of).dtype()) {
      return "a zero point of another type";
    }
  }
  return IsOneOrPerColumn(context, ports.b_zero, b.dim(1)) ? nullptr : "zero points of another shape";
}

Refusal WhyNotMatMulInteger(const KernelContext& context) { return WhyNotIntegers(context, kOfMatMulInteger); }

Refusal WhyNotQLinearMatMul(const KernelContext& context) {
  if (const Refusal refusal = WhyNotIntegers(context, kOfQLinear)) return refusal;
  for (const size_t port : {kScaleA, kScaleB, kScaleY}) {
    if (context.Input(port).dtype() != DType::kFloat32) return "scales that are not float32";
  }
  const bool are_single = context.Input(kScaleA).num_elements() == 1 && context.Input(kScaleY).num_elements() == 1 &&
                          context.Input(kZeroY).num_elements() == 1;
  if (!are_single || !Is8Bits(context.Input(kZeroY).dtype())) return "scales by row, or zero points of other types";
  const auto is_positive = [](float scale) { return scale > 0 && scale <= std::numeric_limits<float>::max(); };
  for (const size_t port : {kScaleA, kScaleB, kScaleY}) {
    const auto scales = context.Input(port).elements<float>();
    if (!std::all_of(scales.begin(), scales.end(), is_positive)) return "a scale that is not above 0";
  }
  return IsOneOrPerColumn(context, kScaleB, context.Input(kOfQLinear.b).dim(1)) ? nullptr : "scales of another shape";
}

int32_t NumberAt(const Tensor& x, size_t i) {
  return x.dtype() == DType::kUint8 ? x.elements<uint8_t>()[i] : x.elements<int8_t>()[i];
}

// Returns the zero points, one or one per column; 0 if the input is absent.
std::vector<int32_t> ZeroPoints(const KernelContext& context, size_t port) {
  if (!context.HasInput(port)) return {0};
  const Tensor& x = context.Input(port);
  std::vector<int32_t> result(static_cast<size_t>(x.num_elements()));
  for (size_t i = 0; i < result.size(); ++i) result[i] = NumberAt(x, i);
  return result;
}

absl::StatusOr<Tensor> Multiply(KernelContext& context, const Ports& ports) {
  const Tensor &a = context.Input(ports.a), &b = context.Input(ports.b);
  const int64_t rows = a.num_elements() / b.dim(0);
  AMP_ASSIGN_OR_RETURN(const auto prepared,
                       context.State<PreparedOperations>().Get(
                           {rows}, [&]() -> PreparedOperations::Made { return PrepareIntegers(b, rows); }));
  const auto& operation = static_cast<const PreparedIntegers&>(*prepared);
  Tensor left = a;
  int32_t a_zero = ZeroPoints(context, ports.a_zero)[0];
  if (a.dtype() == DType::kInt8) {
    AMP_ASSIGN_OR_RETURN(left, context.MakeScratch(DType::kUint8, a.dims()));
    MoveBytes(a.bytes(), left.mutable_bytes());
    a_zero += kHalfRange;
  }
  Dims dims = a.dims();
  dims.back() = b.dim(1);
  AMP_ASSIGN_OR_RETURN(Tensor product, context.MakeScratch(DType::kInt32, std::move(dims)));
  AMP_ASSIGN_OR_RETURN(
      Tensor scratch, context.MakeScratch(DType::kUint8, {static_cast<int64_t>(operation.primitive->scratch_bytes())}));
  AMP_RETURN_IF_ERROR(operation.Multiply({.a = left.elements<uint8_t>(),
                                          .a_zero = a_zero,
                                          .b_zeros = ZeroPoints(context, ports.b_zero),
                                          .y = product.mutable_elements<int32_t>(),
                                          .scratch = scratch.mutable_bytes().data()}));
  context.Report(operation.primitive->implementation(), DType::kInt32);
  return product;
}

absl::Status MatMulInteger(KernelContext& context) {
  AMP_ASSIGN_OR_RETURN(Tensor product, Multiply(context, kOfMatMulInteger));
  context.SetOutput(0, std::move(product));
  return absl::OkStatus();
}

template <typename T>
void Requantize(const KernelContext& context, QuantizedLoops::Requantize<T> requantize, const Tensor& product,
                Tensor& y) {
  const auto n = static_cast<size_t>(context.Input(kOfQLinear.b).dim(1));
  const auto b_scales = context.Input(kScaleB).elements<float>();
  const double common = static_cast<double>(context.Input(kScaleA).elements<float>()[0]) /
                        static_cast<double>(context.Input(kScaleY).elements<float>()[0]);
  std::vector<double> factors;
  for (const float scale : b_scales) factors.push_back(common * static_cast<double>(scale));
  factors.resize(n, factors[0]);
  const auto zero = static_cast<float>(NumberAt(context.Input(kZeroY), 0));
  const auto in = product.elements<int32_t>();
  const auto out = y.mutable_elements<T>();
  ParallelFor(in.size() / n, n, [&](const Share& share) {
    for (size_t row = share.first * n; row < share.end * n; row += n) {
      requantize(in.data() + row, factors.data(), out.data() + row, n, zero);
    }
  });
}

absl::Status QLinearMatMul(KernelContext& context) {
  AMP_ASSIGN_OR_RETURN(const Tensor product, Multiply(context, kOfQLinear));
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, context.Input(kZeroY).dtype(), product.dims()));
  if (y->dtype() == DType::kUint8) {
    Requantize<uint8_t>(context, BestLoops().quantized.requantize_uint8, product, *y);
  } else {
    Requantize<int8_t>(context, BestLoops().quantized.requantize_int8, product, *y);
  }
  return absl::OkStatus();
}

constexpr KernelRow kRows[] = {
    {.op_type = "MatMulInteger", .function = MatMulInteger, .refusal = WhyNotMatMulInteger, .family = "onednn"},
    {.op_type = "QLinearMatMul", .function = QLinearMatMul, .refusal = WhyNotQLinearMatMul, .family = "onednn"},
};

}  // namespace

absl::Span<const KernelRow> LibraryIntegerMatrixKernels() { return kRows; }

}  // namespace amp
