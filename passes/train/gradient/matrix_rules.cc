// Products of matrices.
//
//   y = a b:   da = g b^T,   db = a^T g
//
// The gradient of a matrix that a batch shares is one product over all rows of the batch.
#include <numeric>

#include "passes/train/gradient/gradient_rule.h"

namespace amp {
namespace {

Term SwapLastTwo(const Term& x, int64_t rank) {
  Axes permutation(static_cast<size_t>(rank));
  std::iota(permutation.begin(), permutation.end(), 0);
  std::swap(permutation[permutation.size() - 1], permutation[permutation.size() - 2]);
  return Transpose(x, permutation);
}

NewAttributes GemmAttributes(double alpha, bool transposes_a, bool transposes_b) {
  return {{"alpha", static_cast<float>(alpha)},
          {"transA", int64_t{transposes_a ? 1 : 0}},
          {"transB", int64_t{transposes_b ? 1 : 0}}};
}

// The gradient of a trained matrix is float32 whatever the types of the two operands of the product.
constexpr AmpFunction kMatrixWeightGradient = {"MatrixWeightGradient", R"(
<domain: "ai.amp", opset_import: ["" : 13]>
MatrixWeightGradient <alpha, transA, transB, to> (a, b) => (dw) {
  a_float = Cast <to: int = @to> (a)
  b_float = Cast <to: int = @to> (b)
  dw = Gemm <alpha: float = @alpha, transA: int = @transA, transB: int = @transB> (a_float, b_float)
})"};

// The gradient of an operand. If no node makes it, as a weight or graph input, a function of domain ai.amp computes it,
// else a plain product.
Term WeightGradient(Backward& node, size_t port, const Term& a, const Term& b, NewAttributes attributes) {
  if (node.model().value(node.InputId(port)).producer != kNone) return node.write().Op("Gemm", {a, b}, attributes);
  const DType type = node.Input(port).dtype(), inside = type == DType::kFloat64 ? type : DType::kFloat32;
  attributes.emplace_back("to", inside);
  return Cast(node.write().Call(kMatrixWeightGradient, {a, b}, 1, inside, attributes).front(), type);
}

absl::Status Gemm(Backward& node) {
  const double alpha = node.Float("alpha", 1), beta = node.Float("beta", 1);
  const bool transposes_a = node.Int("transA", 0) != 0, transposes_b = node.Int("transB", 0) != 0;
  const Term& g = node.Gradient();
  const auto product = [&](const Term& x, const Term& y, bool transposes_x, bool transposes_y) {
    return node.write().Op("Gemm", {x, y}, GemmAttributes(alpha, transposes_x, transposes_y));
  };
  if (node.Wants(0)) {
    node.Give(0, transposes_a ? product(node.Input(1), g, transposes_b, true)
                              : product(g, node.Input(1), false, !transposes_b));
  }
  if (node.Wants(1)) {
    const Term x = node.Input(0);
    node.Give(1, transposes_b ? WeightGradient(node, 1, g, x, GemmAttributes(alpha, true, transposes_a))
                              : WeightGradient(node, 1, x, g, GemmAttributes(alpha, !transposes_a, false)));
  }
  if (node.Wants(2)) node.GiveBroadcast(2, beta == 1 ? g : g * beta);
  return absl::OkStatus();
}

// [..., n] as [rows, n].
Term AsRows(const Term& x, int64_t rank) { return rank == 2 ? x : x.writer().Op("Flatten", {x}, {{"axis", rank - 1}}); }

Axes LeadingAxes(int64_t count) {
  Axes axes(static_cast<size_t>(count));
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

// Vectors are matrices of one row on the left and of one column on the right, and their result loses that axis again.
absl::Status OfMatMul(Backward& node) {
  const auto rank_a = node.Rank(node.InputId(0)), rank_b = node.Rank(node.InputId(1));
  if (!rank_a || !rank_b) return Backward::Refuse("the ranks of its operands have to be known");
  const bool is_row = *rank_a == 1, is_column = *rank_b == 1;
  const Term a = is_row ? Unsqueeze(node.Input(0), {0}) : node.Input(0);
  const Term b = is_column ? Unsqueeze(node.Input(1), {1}) : node.Input(1);
  Term g = node.Gradient();
  if (is_row) g = Unsqueeze(g, {is_column ? -1 : -2});
  if (is_column) g = Unsqueeze(g, {-1});
  const int64_t matrix_a = std::max<int64_t>(*rank_a, 2), matrix_b = std::max<int64_t>(*rank_b, 2);
  const int64_t rank = std::max(matrix_a, matrix_b);

  // Sums the gradients of a stack of matrices over its repetitions.
  const auto sum_stacks = [&](const Term& gradient, size_t port) {
    return node.SumTo(gradient, node.OutputId(), node.InputId(port), 2);
  };
  if (node.Wants(0)) {
    const Term gradient = MatMul(g, SwapLastTwo(b, matrix_b));
    node.Give(0, is_row          ? Sum(gradient, LeadingAxes(rank - 1), KeepDims::kNo)
                 : matrix_b == 2 ? gradient
                                 : sum_stacks(gradient, 0));
  }
  if (!node.Wants(1)) return absl::OkStatus();
  const Term gradient =
      matrix_b == 2 ? WeightGradient(node, 1, AsRows(a, matrix_a), AsRows(g, rank), GemmAttributes(1, true, false))
                    : MatMul(SwapLastTwo(a, matrix_a), g);
  const bool is_summed = matrix_b > 2 && !is_row;
  node.Give(1, is_column ? Squeeze(gradient, {1}) : is_summed ? sum_stacks(gradient, 1) : gradient);
  return absl::OkStatus();
}

constexpr GradientRule kRules[] = {
    {"Gemm", Gemm},
    {"MatMul", OfMatMul},
};

}  // namespace

absl::Span<const GradientRule> MatrixRules() { return kRules; }

}  // namespace amp
