#include "runtime/kernel/layout.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "ir/base/check.h"
#include "ir/base/status.h"
#include "runtime/kernel/element_mover.h"
#include "runtime/kernel/shape_math.h"
#include "runtime/kernel/turn_matrix.h"

namespace amp {
namespace {

// Each of `batch` matrices [rows, columns] to [columns, rows].
template <typename T>
void TransposeEach(const Tensor& from, Tensor& to, size_t batch, size_t rows, size_t columns) {
  const Turn turn = {.rows = static_cast<int64_t>(columns),
                     .columns = static_cast<int64_t>(rows),
                     .from_step = static_cast<int64_t>(columns),
                     .to_step = static_cast<int64_t>(rows)};
  for (size_t n = 0; n < batch; ++n) {
    TurnMatrixTogether(from.elements<T>().data() + n * rows * columns,
                       to.mutable_elements<T>().data() + n * rows * columns, turn);
  }
}

// Turns the tensor by the mover of the memory that its elements are in.
void TurnElsewhere(const Tensor& tensor, Tensor& result) {
  const int64_t batch = tensor.dim(0), channels = tensor.dim(1);
  const int64_t pixels = ElementsBetween(tensor.dims(), 2, tensor.rank());
  const bool becomes_last = result.layout() == Layout::kChannelsLast;
  const int64_t rows = becomes_last ? pixels : channels, columns = becomes_last ? channels : pixels;
  const int64_t dims[] = {batch, rows, columns}, strides[] = {rows * columns, 1, rows};
  tensor.mover()->CopyStrided(tensor, 0, dims, strides, result);
}

}  // namespace

absl::StatusOr<Tensor> InLayout(const Tensor& tensor, Layout layout, TensorMemory* memory) {
  if (tensor.layout() == layout) return tensor;
  AMP_CHECK(tensor.rank() >= 3 && tensor.dtype() != DType::kString);
  const bool is_same_in_both = tensor.dim(1) == 1 || ElementsBetween(tensor.dims(), 2, tensor.rank()) == 1;
  if (is_same_in_both) {
    Tensor result = tensor;
    result.set_layout(layout);
    return result;
  }
  AMP_ASSIGN_OR_RETURN(Tensor result, Tensor::Create(tensor.dtype(), tensor.dims(), memory));
  result.set_layout(layout);
  if (tensor.num_elements() == 0) return result;
  if (!tensor.IsOnHost()) {
    TurnElsewhere(tensor, result);
    return result;
  }
  const auto batch = static_cast<size_t>(tensor.dim(0));
  const auto channels = static_cast<size_t>(tensor.dim(1));
  const auto pixels = static_cast<size_t>(ElementsBetween(tensor.dims(), 2, tensor.rank()));
  const size_t rows = layout == Layout::kChannelsLast ? channels : pixels;
  const size_t columns = layout == Layout::kChannelsLast ? pixels : channels;
  switch (ElementBytes(tensor.dtype())) {
    case 1:
      TransposeEach<uint8_t>(tensor, result, batch, rows, columns);
      break;
    case 2:
      TransposeEach<uint16_t>(tensor, result, batch, rows, columns);
      break;
    case 4:
      TransposeEach<uint32_t>(tensor, result, batch, rows, columns);
      break;
    case 8:
      TransposeEach<uint64_t>(tensor, result, batch, rows, columns);
      break;
    default:
      return ModelError("no layout but row by row for ", DTypeName(tensor.dtype()));
  }
  return result;
}

Dims DimsInMemory(Dims dims, Layout layout) {
  if (layout == Layout::kChannelsLast) std::rotate(dims.begin() + 1, dims.begin() + 2, dims.end());
  return dims;
}

size_t AxisInMemory(size_t axis, size_t rank, Layout layout) {
  if (layout == Layout::kRowMajor || axis == 0) return axis;
  return axis == 1 ? rank - 1 : axis - 1;
}

Tensor AsInMemory(const Tensor& tensor) {
  if (tensor.layout() == Layout::kRowMajor) return tensor;
  Tensor result = tensor.Reshaped(DimsInMemory(tensor.dims(), tensor.layout()));
  result.set_layout(Layout::kRowMajor);
  return result;
}

Tensor FromMemory(const Tensor& in_memory, Layout layout) {
  Dims dims = in_memory.dims();
  if (layout == Layout::kChannelsLast) std::rotate(dims.begin() + 1, dims.end() - 1, dims.end());
  Tensor result = in_memory.Reshaped(std::move(dims));
  result.set_layout(layout);
  return result;
}

}  // namespace amp
