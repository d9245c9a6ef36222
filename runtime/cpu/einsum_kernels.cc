// Einsum of two operands that is a batch of matrix products, by oneDNN.
//
//   "bhid,bhjd->bhij"     batch b h, rows i, columns j, sum over d: each a times the transpose of b
//
// Axes are transposed to the order (batch, rows, sum) and (batch, sum, columns) where needed. The reference kernel
// computes all other equations.
#include <optional>
#include <string>
#include <utility>

#include "ir/base/status.h"
#include "runtime/cpu/families.h"
#include "runtime/cpu/make_primitive.h"
#include "runtime/cpu/prepared.h"
#include "runtime/kernel/contraction.h"
#include "runtime/onednn/open_library.h"

namespace amp {
namespace {

Refusal WhyNotEinsum(const KernelContext& context) {
  if (onednn::OpenLibrary().library == nullptr) return "oneDNN is not there";
  if (context.num_inputs() != 2) return "not of two operands";
  const Tensor &a = context.Input(0), &b = context.Input(1);
  if (!IsFloatOfLibrary(a.dtype()) || a.dtype() != b.dtype()) return "not two of float32, float16 or bfloat16";
  if (a.num_elements() == 0 || b.num_elements() == 0) return "no elements";
  const std::optional<Contraction> contraction = ReadEquation(context.node());
  if (!contraction.has_value()) return "no product of matrices";
  return DoSizesAgree(*contraction, a, b) ? nullptr : "sizes that differ";
}

PreparedOperations::Made Prepare(const ContractionSizes& sizes, bool transposes_b, DType compute, DType result) {
  auto operation = std::make_shared<PreparedOperation>();
  onednn::MatMulSpec spec{.a = RowMajorOperand(compute, {sizes.batch, sizes.m, sizes.k}),
                          .b = RowMajorOperand(compute, {sizes.batch, sizes.k, sizes.n}),
                          .y = RowMajorOperand(result, {sizes.batch, sizes.m, sizes.n}),
                          .bias = {},
                          .post_ops = {}};
  if (transposes_b) spec.b.strides = {sizes.k * sizes.n, 1, sizes.k};
  AMP_ASSIGN_OR_RETURN(operation->primitive, MakeMatMul(spec));
  return operation;
}

absl::StatusOr<Tensor> Multiply(KernelContext& context, const Tensor& a, const Tensor& b, const ContractionSizes& sizes,
                                bool transposes_b) {
  const DType compute = ComputeTypeFor(context, a.dtype());
  const DType computed_as = compute == a.dtype() ? compute : DType::kFloat32;
  AMP_ASSIGN_OR_RETURN(const auto operation, context.State<PreparedOperations>().Get(
                                                 {sizes.batch, sizes.m, sizes.k, sizes.n, transposes_b ? 1 : 0},
                                                 [&] { return Prepare(sizes, transposes_b, compute, computed_as); }));
  AMP_ASSIGN_OR_RETURN(const Tensor left, Converted(a, compute, context.memory()));
  AMP_ASSIGN_OR_RETURN(const Tensor right, Converted(b, compute, context.memory()));
  AMP_ASSIGN_OR_RETURN(Tensor product, context.MakeScratch(computed_as, {sizes.batch, sizes.m, sizes.n}));
  AMP_ASSIGN_OR_RETURN(
      Tensor scratch,
      context.MakeScratch(DType::kUint8, {static_cast<int64_t>(operation->primitive->scratch_bytes())}));
  onednn::Primitive::Arguments arguments;
  arguments.a = left.bytes().data();
  arguments.b = right.bytes().data();
  arguments.y = product.mutable_bytes().data();
  arguments.scratch = scratch.mutable_bytes().data();
  if (!operation->primitive->Run(arguments)) return absl::InternalError("oneDNN failed");
  context.Report(operation->primitive->implementation(), compute);
  return Converted(product, a.dtype(), context.memory());
}

absl::Status Einsum(KernelContext& context) {
  const Contraction form = *ReadEquation(context.node());
  const Tensor &a = context.Input(0), &b = context.Input(1);
  AMP_ASSIGN_OR_RETURN(const Tensor left, Ordered(context, a, form.a, form.OrderOfA()));
  AMP_ASSIGN_OR_RETURN(const Tensor right, Ordered(context, b, form.b, form.OrderOfB()));
  AMP_ASSIGN_OR_RETURN(const Tensor product, Multiply(context, left, right, SizesOf(form, a, b), form.TransposesB()));
  const std::string labels = form.batch + form.rows + form.columns;
  AMP_ASSIGN_OR_RETURN(Tensor y, Ordered(context, product.Reshaped(DimsOf(form, labels, a, b)), labels, form.y));
  context.SetOutput(0, std::move(y));
  return absl::OkStatus();
}

constexpr KernelRow kRows[] = {
    {.op_type = "Einsum", .function = Einsum, .refusal = WhyNotEinsum, .family = "onednn"},
};

}  // namespace

absl::Span<const KernelRow> LibraryEinsumKernels() { return kRows; }

}  // namespace amp
