// Einsum that is a batch of matrix products, or several of them one after another, by oneDNN.
//
//   "bhid,bhjd->bhij"     batch b h, rows i, columns j, sum over d: each a times the transpose of b
//
// Axes are transposed to the order (batch, rows, sum) and (batch, sum, columns) where needed. The reference kernel
// computes all other equations.
#include <string>
#include <utility>
#include <vector>

#include "ir/base/status.h"
#include "runtime/cpu/batched_product.h"
#include "runtime/cpu/families.h"
#include "runtime/cpu/prepared.h"
#include "runtime/kernel/contraction.h"
#include "runtime/onednn/open_library.h"

namespace amp {
namespace {

Refusal WhyNotEinsum(const KernelContext& context) {
  if (onednn::OpenLibrary().library == nullptr) return "oneDNN is not there";
  const std::vector<Contraction> products = ReadEquation(context.node());
  if (products.empty() || products.size() + 1 != context.num_inputs()) return "no products of matrices";
  const DType dtype = context.Input(0).dtype();
  if (!IsFloatOfLibrary(dtype)) return "not of float32, float16 or bfloat16";
  for (size_t i = 0; i < context.num_inputs(); ++i) {
    if (context.Input(i).dtype() != dtype) return "operands of different types";
    if (context.Input(i).num_elements() == 0) return "no elements";
  }
  return DoSizesAgree(products, context) ? nullptr : "sizes that differ";
}

absl::StatusOr<Tensor> Contract(KernelContext& context, const Contraction& form, const Tensor& a, const Tensor& b) {
  AMP_ASSIGN_OR_RETURN(const Tensor left, Ordered(context, a, form.a, form.OrderOfA()));
  AMP_ASSIGN_OR_RETURN(const Tensor right, Ordered(context, b, form.b, form.OrderOfB()));
  AMP_ASSIGN_OR_RETURN(const Tensor product,
                       BatchedProduct(context, left, right, SizesOf(form, a, b), form.TransposesB()));
  const std::string labels = form.batch + form.rows + form.columns;
  return Ordered(context, product.Reshaped(DimsOf(form, labels, a, b)), labels, form.y);
}

// Products of several operands are float32 until the last one, so that results are rounded once.
absl::Status Einsum(KernelContext& context) {
  const std::vector<Contraction> products = ReadEquation(context.node());
  const DType dtype = context.Input(0).dtype(), between = products.size() == 1 ? dtype : DType::kFloat32;
  AMP_ASSIGN_OR_RETURN(Tensor y, Converted(context.Input(0), between, context.memory()));
  for (size_t i = 0; i < products.size(); ++i) {
    AMP_ASSIGN_OR_RETURN(const Tensor next, Converted(context.Input(i + 1), between, context.memory()));
    AMP_ASSIGN_OR_RETURN(y, Contract(context, products[i], y, next));
  }
  AMP_ASSIGN_OR_RETURN(y, Converted(y, dtype, context.memory()));
  context.SetOutput(0, std::move(y));
  return absl::OkStatus();
}

constexpr KernelRow kRows[] = {
    {.op_type = "Einsum", .function = Einsum, .refusal = WhyNotEinsum, .family = "onednn"},
};

}  // namespace

absl::Span<const KernelRow> LibraryEinsumKernels() { return kRows; }

}  // namespace amp
