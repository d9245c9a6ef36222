// Products of matrices in the types of runtime/reference/accumulator.h, which all matrix work of the reference kernels
// comes down to: MatMul, Gemm, Einsum, convolutions, attention.
//
//   AddMatrixProduct<double>({.a = {a, 3, 1}, .b = {b, 1, 3}, .m = 2, .k = 3, .n = 4}, {y, 4});  // y += a transpose(b)
//
// Every element of the result is a sum over k in order, as in the schoolbook's three loops. What makes it fast enough
// for whole models is that four columns of b are copied side by side, so that the innermost loop is contiguous.
#ifndef AMP_RUNTIME_REFERENCE_MATRIX_PRODUCT_H_
#define AMP_RUNTIME_REFERENCE_MATRIX_PRODUCT_H_

#include <cstddef>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/kernel/tensor.h"

namespace amp {

// Element (i, j) is data[i * row_stride + j * column_stride].
template <typename T>
struct MatrixView {
  T* data;
  size_t row_stride;
  size_t column_stride = 1;

  // Returns the part of the matrix below and to the right of an element, including it.
  MatrixView At(size_t i, size_t j) const {
    return {data + i * row_stride + j * column_stride, row_stride, column_stride};
  }
};

// A product of a[m, k] and b[k, n].
template <typename T>
struct MatrixOperands {
  MatrixView<const T> a, b;
  size_t m, k, n;
};

// y += a b. T is double or uint64_t. REQUIRES: y overlaps neither.
template <typename T>
void AddMatrixProduct(const MatrixOperands<T>& operands, MatrixView<T> y);

// numpy.matmul of tensors of one accumulator type: [..., M, K] and [..., K, N] give [..., M, N], whatever is before the
// matrices broadcasts, and a vector is a row on the left, a column on the right. Errors: shapes that do not fit.
absl::StatusOr<Tensor> MultiplyMatrices(const Tensor& a, const Tensor& b);

// Axis i of the result is axis order[i] of `x`. REQUIRES: a permutation of its axes.
absl::StatusOr<Tensor> PermuteAxes(const Tensor& x, absl::Span<const size_t> order);
// The tensor with its last two axes exchanged. Errors: fewer than two.
absl::StatusOr<Tensor> TransposeMatrices(const Tensor& x);

}  // namespace amp

#endif  // AMP_RUNTIME_REFERENCE_MATRIX_PRODUCT_H_
