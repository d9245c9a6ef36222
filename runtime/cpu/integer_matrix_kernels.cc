// MatMulInteger and QLinearMatMul by oneDNN's products of 8-bit integers, which are exact.
//
//   sum over k of (a - a_zero) (b - b_zero) = sum a b - a_zero sum b - b_zero sum a + k a_zero b_zero
//
// The library multiplies unsigned by signed numbers: what is signed on the left, or unsigned on the right, is moved by
// 128, and its zero point with it. Sums wrap at 32 bits, as the operators' do.
#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "ir/base/status.h"
#include "runtime/cpu/families.h"
#include "runtime/cpu/prepared.h"
#include "runtime/kernel/parallel_for.h"
#include "runtime/loops/best_loops.h"
#include "runtime/onednn/open_library.h"

namespace amp {
namespace {

constexpr int32_t kHalfRange = 128;  // between signed and unsigned 8 bits

// Where an operator has its inputs.
struct Ports {
  size_t a, a_zero, b, b_zero;
};
constexpr Ports kOfMatMulInteger = {0, 2, 1, 3};
constexpr Ports kOfQLinear = {0, 2, 3, 5};
constexpr size_t kScaleA = 1, kScaleB = 4, kScaleY = 6, kZeroY = 7;

struct PreparedIntegers : PreparedOperation {
  std::vector<uint32_t> column_sums;  // of b as the library sees it
};

bool Is8Bits(DType dtype) { return dtype == DType::kUint8 || dtype == DType::kInt8; }

bool IsOneOrPerColumn(const KernelContext& context, size_t port, int64_t columns) {
  if (!context.HasInput(port)) return true;
  const Tensor& x = context.Input(port);
  return x.num_elements() == 1 || (x.rank() == 1 && x.dim(0) == columns);
}

const char* WhyNotIntegers(const KernelContext& context, const Ports& ports) {
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

const char* WhyNotMatMulInteger(const KernelContext& context) { return WhyNotIntegers(context, kOfMatMulInteger); }

const char* WhyNotQLinearMatMul(const KernelContext& context) {
  if (const char* reason = WhyNotIntegers(context, kOfQLinear)) return reason;
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

// Elements of 8 bits, moved by 128 where `moves`, as bytes.
void CopyMoved(const Tensor& from, bool moves, absl::Span<std::byte> to) {
  const auto bytes = from.bytes();
  const std::byte mask = moves ? std::byte{kHalfRange} : std::byte{0};
  std::transform(bytes.begin(), bytes.end(), to.begin(), [mask](std::byte b) { return b ^ mask; });
}

int32_t NumberAt(const Tensor& x, size_t i) {
  return x.dtype() == DType::kUint8 ? x.elements<uint8_t>()[i] : x.elements<int8_t>()[i];
}

// Zero points as the library's operands have them, one or one per column.
std::vector<uint32_t> ZeroPoints(const KernelContext& context, size_t port, int32_t moved_by) {
  std::vector<uint32_t> result;
  const Tensor& x = context.Input(port);
  for (size_t i = 0; i < static_cast<size_t>(context.HasInput(port) ? x.num_elements() : 0); ++i) {
    result.push_back(static_cast<uint32_t>(NumberAt(x, i) + moved_by));
  }
  if (result.empty()) result.push_back(static_cast<uint32_t>(moved_by));
  return result;
}

PreparedOperations::Made Prepare(const Tensor& b, int64_t rows) {
  auto operation = std::make_shared<PreparedIntegers>();
  const int64_t k = b.dim(0), n = b.dim(1);
  onednn::MatMulSpec spec{.a = RowMajorOperand(DType::kUint8, {rows, k}),
                          .b = RowMajorOperand(DType::kInt8, {k, n}),
                          .y = RowMajorOperand(DType::kInt32, {rows, n}),
                          .bias = {},
                          .packs_b = true,
                          .post_ops = {}};
  std::string why_not;
  operation->primitive = onednn::OpenLibrary().library->MakeMatMul(spec, &why_not);
  if (operation->primitive == nullptr) return absl::UnimplementedError(why_not);
  AMP_ASSIGN_OR_RETURN(Tensor plain, Tensor::Create(DType::kInt8, b.dims()));
  CopyMoved(b, b.dtype() == DType::kUint8, plain.mutable_bytes());
  operation->column_sums.assign(static_cast<size_t>(n), 0);
  const auto elements = plain.elements<int8_t>();
  for (size_t i = 0; i < elements.size(); ++i) {
    operation->column_sums[i % static_cast<size_t>(n)] += static_cast<uint32_t>(elements[i]);
  }
  operation->weights = plain;
  if (operation->primitive->packed_bytes() == 0) return operation;
  AMP_ASSIGN_OR_RETURN(operation->weights,
                       Tensor::Create(DType::kUint8, {static_cast<int64_t>(operation->primitive->packed_bytes())}));
  if (!operation->primitive->Pack(plain.bytes().data(), operation->weights.mutable_bytes().data())) {
    return absl::UnimplementedError("the library does not pack the weights");
  }
  return operation;
}

// The part of the sums that depends on rows and columns alone, added to the product [rows, n].
void AddZeroPoints(const KernelContext& context, const Ports& ports, absl::Span<const uint8_t> a,
                   const std::vector<uint32_t>& column_sums, absl::Span<int32_t> product) {
  const Tensor& b = context.Input(ports.b);
  const auto k = static_cast<size_t>(b.dim(0)), n = static_cast<size_t>(b.dim(1));
  const bool a_moves = context.Input(ports.a).dtype() == DType::kInt8, b_moves = b.dtype() == DType::kUint8;
  const uint32_t a_zero = ZeroPoints(context, ports.a_zero, a_moves ? kHalfRange : 0)[0];
  std::vector<uint32_t> b_zero = ZeroPoints(context, ports.b_zero, b_moves ? -kHalfRange : 0);
  b_zero.resize(n, b_zero[0]);
  std::vector<uint32_t> of_columns(n);
  std::transform(column_sums.begin(), column_sums.end(), of_columns.begin(),
                 [a_zero](uint32_t sum) { return 0 - a_zero * sum; });
  const QuantizedLoops& loops = BestLoops().quantized;
  ParallelFor(product.size() / n, k + n, [&](const Share& share) {
    for (size_t row = share.first; row < share.end; ++row) {
      const uint32_t of_row = static_cast<uint32_t>(k) * a_zero - loops.sum_of_bytes(a.data() + row * k, k);
      loops.add_to_sums(of_columns.data(), b_zero.data(), of_row, product.data() + row * n, n);
    }
  });
}

absl::StatusOr<Tensor> Multiply(KernelContext& context, const Ports& ports) {
  const Tensor &a = context.Input(ports.a), &b = context.Input(ports.b);
  const int64_t rows = a.num_elements() / b.dim(0);
  AMP_ASSIGN_OR_RETURN(const auto prepared,
                       context.State<PreparedOperations>().Get({rows}, [&] { return Prepare(b, rows); }));
  const auto& operation = static_cast<const PreparedIntegers&>(*prepared);
  Tensor left = a;
  if (a.dtype() == DType::kInt8) {
    AMP_ASSIGN_OR_RETURN(left, context.MakeScratch(DType::kUint8, a.dims()));
    CopyMoved(a, /*moves=*/true, left.mutable_bytes());
  }
  Dims dims = a.dims();
  dims.back() = b.dim(1);
  AMP_ASSIGN_OR_RETURN(Tensor product, context.MakeScratch(DType::kInt32, std::move(dims)));
  AMP_ASSIGN_OR_RETURN(
      Tensor scratch, context.MakeScratch(DType::kUint8, {static_cast<int64_t>(operation.primitive->scratch_bytes())}));
  onednn::Primitive::Arguments arguments;
  arguments.a = left.bytes().data();
  arguments.b = operation.weights.bytes().data();
  arguments.y = product.mutable_bytes().data();
  arguments.scratch = scratch.mutable_bytes().data();
  if (!operation.primitive->Run(arguments)) return absl::InternalError("oneDNN failed");
  context.Report(operation.primitive->implementation(), DType::kInt32);
  AddZeroPoints(context, ports, left.elements<uint8_t>(), operation.column_sums, product.mutable_elements<int32_t>());
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
    {.op_type = "MatMulInteger", .function = MatMulInteger, .why_not = WhyNotMatMulInteger, .family = "onednn"},
    {.op_type = "QLinearMatMul", .function = QLinearMatMul, .why_not = WhyNotQLinearMatMul, .family = "onednn"},
};

}  // namespace

absl::Span<const KernelRow> LibraryIntegerMatrixKernels() { return kRows; }

}  // namespace amp
