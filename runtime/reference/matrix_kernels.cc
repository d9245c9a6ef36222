// Products of matrices in plain types, and determinants.
#include <cmath>
#include <utility>
#include <vector>

#include "runtime/kernel/shape_math.h"
#include "runtime/reference/accumulator.h"
#include "runtime/reference/families.h"
#include "runtime/reference/gemm.h"
#include "runtime/reference/matrix_product.h"

namespace amp {
namespace {

absl::Status MatMul(KernelContext& context) {
  AMP_ASSIGN_OR_RETURN(const Tensor a, ToAccumulator(context.Input(0)));
  AMP_ASSIGN_OR_RETURN(const Tensor b, ToAccumulator(context.Input(1)));
  AMP_ASSIGN_OR_RETURN(const Tensor product, MultiplyMatrices(a, b));
  AMP_ASSIGN_OR_RETURN(Tensor y, FromAccumulator(product, context.Input(0).dtype()));
  context.SetOutput(0, std::move(y));
  return absl::OkStatus();
}

absl::Status Gemm(KernelContext& context) {
  AMP_ASSIGN_OR_RETURN(const Tensor sum, ComputeGemm(context));
  AMP_ASSIGN_OR_RETURN(Tensor y, FromAccumulator(sum, context.Input(0).dtype()));
  context.SetOutput(0, std::move(y));
  return absl::OkStatus();
}

// Returns the determinant of a matrix of n rows, which elimination with partial pivoting destroys.
double Determinant(absl::Span<double> a, size_t n) {
  double result = 1;
  for (size_t column = 0; column < n; ++column) {
    size_t pivot = column;
    for (size_t row = column + 1; row < n; ++row) {
      if (std::fabs(a[row * n + column]) > std::fabs(a[pivot * n + column])) pivot = row;
    }
    if (a[pivot * n + column] == 0) return 0;
    if (pivot != column) {
      std::swap_ranges(a.begin() + static_cast<std::ptrdiff_t>(pivot * n),
                       a.begin() + static_cast<std::ptrdiff_t>((pivot + 1) * n),
                       a.begin() + static_cast<std::ptrdiff_t>(column * n));
      result = -result;
    }
    result *= a[column * n + column];
    for (size_t row = column + 1; row < n; ++row) {
      const double factor = a[row * n + column] / a[column * n + column];
      for (size_t i = column; i < n; ++i) a[row * n + i] -= factor * a[column * n + i];
    }
  }
  return result;
}

absl::Status Det(KernelContext& context) {
  const Tensor& x = context.Input(0);
  const size_t rank = x.rank();
  if (rank < 2 || x.dim(rank - 1) != x.dim(rank - 2)) {
    return ModelError("expected square matrices [.., m, m], found ", x.TypeText());
  }
  AMP_ASSIGN_OR_RETURN(const Tensor wide, ToFloat64(x));
  const Dims batch(x.dims().begin(), x.dims().end() - 2);
  AMP_ASSIGN_OR_RETURN(Tensor result, FilledFloat64(batch, 1));  // the determinant of nothing
  const auto n = static_cast<size_t>(x.dim(rank - 1));
  std::vector<double> matrix(wide.elements<double>().begin(), wide.elements<double>().end());
  for (size_t i = 0; n > 0 && i < static_cast<size_t>(result.num_elements()); ++i) {
    result.mutable_elements<double>()[i] = Determinant(absl::MakeSpan(matrix).subspan(i * n * n, n * n), n);
  }
  AMP_ASSIGN_OR_RETURN(Tensor y, FromAccumulator(result, x.dtype()));
  context.SetOutput(0, std::move(y));
  return absl::OkStatus();
}

constexpr KernelRow kRows[] = {
    {"MatMul", MatMul},
    {"Gemm", Gemm},
    {"Det", Det},
};

}  // namespace

absl::Span<const KernelRow> MatrixKernels() { return kRows; }

}  // namespace amp
