// com.microsoft's operators on plain numbers: Gelu in several forms, and products with the operators fused into them.
#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>
#include <vector>

#include "runtime/forms/activation.h"
#include "runtime/kernel/shape_math.h"
#include "runtime/reference/accumulator.h"
#include "runtime/reference/families.h"
#include "runtime/reference/fused_activation.h"
#include "runtime/reference/gemm.h"
#include "runtime/reference/matrix_product.h"
#include "runtime/reference/quantized.h"

namespace amp {
namespace {

absl::Status RoundToOutput(KernelContext& context, const Tensor& result) {
  AMP_ASSIGN_OR_RETURN(Tensor y, FromAccumulator(result, context.Input(0).dtype()));
  context.SetOutput(0, std::move(y));
  return absl::OkStatus();
}

// of(x), or of(x + bias) with a bias for the last axis as input 1.
absl::Status OfBiased(KernelContext& context, const Activation& of) {
  AMP_ASSIGN_OR_RETURN(const Tensor x, ToFloat64(context.Input(0)));
  Tensor bias;
  if (context.HasInput(1)) {
    AMP_ASSIGN_OR_RETURN(bias, ToFloat64(context.Input(1)));
  } else {
    AMP_ASSIGN_OR_RETURN(bias, FilledFloat64({}, 0));
  }
  AMP_ASSIGN_OR_RETURN(const Tensor y, MapPairs(x, bias, [&](double a, double b) { return of(a + b); }));
  if (y.dims() != x.dims()) {
    return ModelError("expected a bias that broadcasts to ", DimsText(x.dims()), ", found ", DimsText(bias.dims()));
  }
  return RoundToOutput(context, y);
}

absl::Status Gelu(KernelContext& context) { return OfBiased(context, GeluOf); }

absl::Status FastGelu(KernelContext& context) { return OfBiased(context, GeluByTanh); }

absl::Status QuickGelu(KernelContext& context) {
  const double alpha = ReadActivation(context.node(), context.version()).a;
  return OfBiased(context, [alpha](double x) { return x * SigmoidOf(alpha * x); });
}

// An operand of FusedMatMul. transBatch moves the first axis in front of the last one; trans exchanges the last two.
absl::StatusOr<Tensor> Operand(const KernelContext& context, size_t port, absl::string_view side) {
  const Node& node = context.node();
  AMP_ASSIGN_OR_RETURN(Tensor x, ToFloat64(context.Input(port)));
  if (x.rank() < 2) return x;
  std::vector<size_t> order(x.rank());
  std::iota(order.begin(), order.end(), size_t{0});
  if (GetInt(node, absl::StrCat("transBatch", side), 0) != 0) {
    std::rotate(order.begin(), order.begin() + 1, order.end() - 1);
  }
  if (GetInt(node, absl::StrCat("trans", side), 0) != 0) std::swap(order[x.rank() - 2], order[x.rank() - 1]);
  return PermuteAxes(x, order);
}

absl::Status FusedMatMul(KernelContext& context) {
  AMP_ASSIGN_OR_RETURN(const Tensor a, Operand(context, 0, "A"));
  AMP_ASSIGN_OR_RETURN(const Tensor b, Operand(context, 1, "B"));
  AMP_ASSIGN_OR_RETURN(Tensor product, MultiplyMatrices(a, b));
  const double alpha = GetFloat(context.node(), "alpha", 1);
  for (double& element : product.mutable_elements<double>()) element *= alpha;
  return RoundToOutput(context, product);
}

absl::Status FusedGemm(KernelContext& context) {
  const Node& node = context.node();
  AMP_ASSIGN_OR_RETURN(Tensor sum, ComputeGemm(context));
  std::vector<float> parameters;
  for (const absl::string_view name : {"activation_alpha", "activation_beta", "activation_gamma"}) {
    if (!GetFloat(node, name).has_value()) break;
    parameters.push_back(*GetFloat(node, name));
  }
  AMP_ASSIGN_OR_RETURN(const Activation activation, FindActivation(GetString(node, "activation", ""), parameters));
  if (sum.dtype() != DType::kFloat64) return context.TypeError(context.Input(0).dtype());
  for (double& element : sum.mutable_elements<double>()) element = activation(element);
  return RoundToOutput(context, sum);
}

constexpr KernelRow kRows[] = {
    {"Gelu", Gelu, "com.microsoft"},
    {"BiasGelu", Gelu, "com.microsoft"},
    {"FastGelu", FastGelu, "com.microsoft"},
    {"QuickGelu", QuickGelu, "com.microsoft"},
    {"FusedMatMul", FusedMatMul, "com.microsoft"},
    {"TransposeMatMul", FusedMatMul, "com.microsoft"},
    {"FusedGemm", FusedGemm, "com.microsoft"},
};

}  // namespace

absl::Span<const KernelRow> ContribKernels() { return kRows; }

}  // namespace amp
