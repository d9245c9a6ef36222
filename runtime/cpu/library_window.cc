#include "runtime/cpu/library_window.h"

#include <utility>

#include "runtime/cpu/prepared.h"

namespace amp {

SpatialView ViewOf(const Window& window) {
  if (window.size() != 2) return SpatialView::kAsIs;
  const WindowAxis& last = window[1];
  const bool is_column = last.input == 1 && last.output == 1 && last.kernel == 1 && last.pad_begin == 0 &&
                         last.pad_end == 0 && window[0].output > 1;
  return is_column ? SpatialView::kColumnAsRow : SpatialView::kAsIs;
}

Dims Spatial(Dims dims, size_t at, int64_t one, SpatialView view) {
  if (dims.size() - at == 1) dims.insert(dims.begin() + static_cast<int>(at), one);
  if (view == SpatialView::kColumnAsRow) std::swap(dims[at], dims[at + 1]);
  return dims;
}

Dims Numbers(const Window& window, int64_t WindowAxis::*member, int64_t one) {
  Dims numbers;
  for (const WindowAxis& axis : window) numbers.push_back(axis.*member);
  return Spatial(std::move(numbers), 0, one, ViewOf(window));
}

onednn::Operand ChannelsLast(DType dtype, const Dims& dims, SpatialView view) {
  onednn::Operand operand{dtype, Spatial(dims, 2, 1, view), {}};
  operand.strides.assign(operand.dims.size(), 1);
  int64_t stride = operand.dims[1];
  for (size_t axis = operand.dims.size() - 1; axis >= 2; --axis) {
    operand.strides[axis] = stride;
    stride *= operand.dims[axis];
  }
  operand.strides[0] = stride;
  return operand;
}

onednn::Operand GroupedWeights(DType dtype, const Dims& dims, int64_t groups, SpatialView view) {
  Dims grouped = Spatial(dims, 2, 1, view);
  grouped[0] /= groups;
  grouped.insert(grouped.begin(), groups);
  return RowMajorOperand(dtype, std::move(grouped));
}

}  // namespace amp
