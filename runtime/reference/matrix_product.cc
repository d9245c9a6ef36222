#include "runtime/reference/matrix_product.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "ir/base/status.h"
#include "runtime/kernel/move_elements.h"
#include "runtime/kernel/shape_math.h"

namespace amp {
namespace {

constexpr size_t kColumns = 4;  // of a panel
constexpr size_t kRows = 1024;  // of a panel: 32 kB

template <typename T>
void PackPanel(MatrixView<const T> b, size_t rows, size_t columns, std::vector<T>& panel) {
  for (size_t i = 0; i < rows; ++i) {
    for (size_t j = 0; j < columns; ++j) panel[i * kColumns + j] = b.data[i * b.row_stride + j * b.column_stride];
  }
}

// y[0, columns) += row panel.
template <typename T>
void AddRowTimesPanel(MatrixView<const T> row, const std::vector<T>& panel, size_t rows, MatrixView<T> y,
                      size_t columns) {
  T sums[kColumns] = {};
  for (size_t j = 0; j < columns; ++j) sums[j] = y.data[j * y.column_stride];
  const T* next = panel.data();
  for (size_t i = 0; i < rows; ++i, next += kColumns) {
    const T factor = row.data[i * row.column_stride];
    for (size_t j = 0; j < kColumns; ++j) sums[j] += factor * next[j];
  }
  for (size_t j = 0; j < columns; ++j) y.data[j * y.column_stride] = sums[j];
}

template <typename T>
absl::Status Multiply(const Tensor& a, const Tensor& b, Tensor& y) {
  const size_t rank = y.rank();
  const auto m = static_cast<size_t>(y.dim(rank - 2)), n = static_cast<size_t>(y.dim(rank - 1));
  const auto k = static_cast<size_t>(a.dim(a.rank() - 1));
  const auto batch = absl::MakeConstSpan(y.dims()).first(rank - 2);
  const auto batch_a = absl::MakeConstSpan(a.dims()).first(a.rank() - 2);
  const auto batch_b = absl::MakeConstSpan(b.dims()).first(b.rank() - 2);
  const T* const of_a = a.elements<T>().data();
  const T* const of_b = b.elements<T>().data();
  T* of_y = y.mutable_elements<T>().data();
  std::fill_n(of_y, y.num_elements(), T{0});
  if (y.num_elements() == 0 || k == 0) return absl::OkStatus();
  for (StridedWalk walk(batch, {BroadcastStrides(batch_a, batch), BroadcastStrides(batch_b, batch)}); !walk.AtEnd();
       walk.Next(), of_y += m * n) {
    AddMatrixProduct<T>({{of_a + walk[0] * m * k, k}, {of_b + walk[1] * k * n, n}, m, k, n}, {of_y, n});
  }
  return absl::OkStatus();
}

}  // namespace

template <typename T>
void AddMatrixProduct(const MatrixOperands<T>& operands, MatrixView<T> y) {
  const auto& [a, b, m, k, n] = operands;
  std::vector<T> panel(kColumns * std::min(k, kRows));
  for (size_t column = 0; column < n; column += kColumns) {
    const size_t columns = std::min(kColumns, n - column);
    for (size_t inner = 0; inner < k; inner += kRows) {
      const size_t rows = std::min(kRows, k - inner);
      PackPanel<T>(b.At(inner, column), rows, columns, panel);
      for (size_t i = 0; i < m; ++i) {
        AddRowTimesPanel<T>(a.At(i, inner), panel, rows, y.At(i, column), columns);
      }
    }
  }
}
template void AddMatrixProduct(const MatrixOperands<double>&, MatrixView<double>);
template void AddMatrixProduct(const MatrixOperands<uint64_t>&, MatrixView<uint64_t>);

absl::StatusOr<Tensor> MultiplyMatrices(const Tensor& left, const Tensor& right) {
  if (left.rank() == 0 || right.rank() == 0 || left.dtype() != right.dtype()) {
    return ModelError("expected two matrices of one type, found ", left.TypeText(), " and ", right.TypeText());
  }
  const Tensor a = left.rank() == 1 ? left.Reshaped({1, left.dim(0)}) : left;
  const Tensor b = right.rank() == 1 ? right.Reshaped({right.dim(0), 1}) : right;
  const auto of_a = absl::MakeConstSpan(a.dims()), of_b = absl::MakeConstSpan(b.dims());
  if (of_a.back() != of_b[b.rank() - 2]) {
    return ModelError("expected matrices [.., m, k] and [.., k, n], found ", DimsText(left.dims()), " and ",
                      DimsText(right.dims()));
  }
  AMP_ASSIGN_OR_RETURN(Dims dims, BroadcastDims(of_a.first(a.rank() - 2), of_b.first(b.rank() - 2)));
  dims.push_back(of_a[a.rank() - 2]);
  dims.push_back(of_b.back());
  AMP_ASSIGN_OR_RETURN(Tensor y, Tensor::Create(a.dtype(), dims));
  AMP_RETURN_IF_ERROR(a.dtype() == DType::kFloat64 ? Multiply<double>(a, b, y) : Multiply<uint64_t>(a, b, y));
  if (left.rank() == 1) dims.erase(dims.end() - 2);
  if (right.rank() == 1) dims.pop_back();
  return y.Reshaped(std::move(dims));
}

absl::StatusOr<Tensor> PermuteAxes(const Tensor& x, absl::Span<const size_t> order) {
  AMP_CHECK(order.size() == x.rank());
  Dims dims(x.rank());
  for (size_t i = 0; i < dims.size(); ++i) dims[i] = x.dim(order[i]);
  AMP_ASSIGN_OR_RETURN(Tensor y, Tensor::Create(x.dtype(), dims));
  const Dims own = RowStrides(x.dims());
  Dims strides(x.rank());
  for (size_t i = 0; i < dims.size(); ++i) strides[i] = own[order[i]];
  AMP_RETURN_IF_ERROR(CopyStrided(x, 0, strides, y));
  return y;
}

absl::StatusOr<Tensor> TransposeMatrices(const Tensor& x) {
  if (x.rank() < 2) return ModelError("expected a matrix, found ", x.TypeText());
  std::vector<size_t> order(x.rank());
  std::iota(order.begin(), order.end(), size_t{0});
  std::swap(order[x.rank() - 2], order[x.rank() - 1]);
  return PermuteAxes(x, order);
}

}  // namespace amp
