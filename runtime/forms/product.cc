#include "runtime/forms/product.h"

#include "ir/graph/attributes.h"

namespace amp {
namespace {

// Looks at the node: the context's inputs behind the node's own ones are those of its epilogue.
bool HasC(const KernelContext& context) { return context.node().Input(2) != kNone; }

// Whether C broadcasts to the result [m, n], which has no more axes by it.
bool FitsC(absl::Span<const int64_t> c, int64_t m, int64_t n) {
  const bool fits_n = c.empty() || c.back() == n || c.back() == 1;
  const bool fits_m = c.size() < 2 || c.front() == m || c.front() == 1;
  return c.size() <= 2 && fits_m && fits_n;
}

}  // namespace

MatrixProduct ReadMatrixProduct(const Node& node) {
  return {.transposes_a = GetInt(node, "transA", 0) != 0,
          .transposes_b = GetInt(node, "transB", 0) != 0,
          .moves_batch = GetInt(node, "transBatchA", 0) != 0 || GetInt(node, "transBatchB", 0) != 0,
          .alpha = GetFloat(node, "alpha", 1),
          .beta = GetFloat(node, "beta", 1)};
}

ProductForm ReadProductForm(const KernelContext& context) {
  if (context.node().op_type() == "MatMul") return {};
  const MatrixProduct stated = ReadMatrixProduct(context.node());
  ProductForm form{.transposes_a = stated.transposes_a, .transposes_b = stated.transposes_b};
  if (stated.alpha != 1) form.steps.push_back({.kind = EpilogueKind::kLinear, .alpha = stated.alpha});
  if (HasC(context) && stated.beta == 1) form.steps.push_back({.kind = EpilogueKind::kAdd, .input = 2});
  return form;
}

Refusal WhyNotProductForm(const KernelContext& context) {
  if (context.node().op_type() == "MatMul") return {};
  const MatrixProduct stated = ReadMatrixProduct(context.node());
  if (stated.moves_batch) return "moves the batch";
  if (context.node().op_type() != "Gemm") return HasC(context) ? "an input that the operator does not have" : nullptr;
  if (context.Input(0).rank() != 2 || context.Input(1).rank() != 2) return "no matrices";
  if (!HasC(context)) return {};
  if (stated.beta != 1 && stated.beta != 0) return "beta is neither 1 nor 0";
  const int64_t m = context.Input(0).dims()[stated.transposes_a ? 1 : 0];
  const int64_t n = context.Input(1).dims()[stated.transposes_b ? 0 : 1];
  if (!FitsC(context.Input(2).dims(), m, n)) return "C does not fit the result";
  return context.Input(2).dtype() == context.Input(0).dtype() ? nullptr : "C has another type";
}

}  // namespace amp
