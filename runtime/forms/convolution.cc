#include "runtime/forms/convolution.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "ir/base/status.h"
#include "ir/graph/attributes.h"
#include "runtime/kernel/shape_math.h"

namespace amp {
namespace {

// Output size and pads of one axis of a transposed convolution, whose window slides over the output.
struct TransposedAxis {
  int64_t output_padding = 0;
  std::optional<int64_t> output;  // attribute output_shape
  bool same = false;              // auto_pad SAME_UPPER or SAME_LOWER
  bool more_at_begin = true;      // where pads that follow from it are odd
};

absl::Status FitTransposed(const TransposedAxis& wanted, WindowAxis& axis) {
  axis.output = axis.input;
  const int64_t full = (axis.output - 1) * axis.stride + axis.Extent() + wanted.output_padding;
  axis.input = full - axis.pad_begin - axis.pad_end;
  if (wanted.output.has_value() || wanted.same) {
    // Pads cut: what is smaller than SAME asks for stays so, as in ONNX's shape inference and ONNX Runtime.
    axis.input = wanted.output.value_or(std::min(full, axis.output * axis.stride));
    const int64_t total = std::max<int64_t>(0, full - axis.input);
    axis.pad_begin = wanted.more_at_begin ? total - total / 2 : total / 2;
    axis.pad_end = total - axis.pad_begin;
  }
  if (axis.input >= 0) return absl::OkStatus();
  return ModelError("expected pads of at most ", full, ", found ", axis.pad_begin, " and ", axis.pad_end);
}

// Attribute with a number for each axis, or for each axis after batch and channels too, as some write output_shape.
absl::StatusOr<std::vector<int64_t>> ReadAxisNumbers(const Node& node, absl::string_view name, size_t rank) {
  std::vector<int64_t> numbers = GetInts(node, name).value_or(std::vector<int64_t>());
  if (numbers.size() == rank + 2) numbers.erase(numbers.begin(), numbers.begin() + 2);
  if (!numbers.empty() && numbers.size() != rank) {
    return ModelError(name, ": expected ", rank, " numbers, found ", numbers.size());
  }
  for (const int64_t number : numbers) {
    if (number < 0 || number > kMaxElements) return ModelError(name, ": expected sizes, found ", number);
  }
  return numbers;
}

}  // namespace

absl::StatusOr<Window> SlideWindowOverOutput(const Node& node, const Tensor& x, const Tensor& w) {
  AMP_ASSIGN_OR_RETURN(Window window, ReadWindow(node, SpatialDims(x), SpatialDims(w)));
  AMP_ASSIGN_OR_RETURN(const std::string auto_pad, ReadAutoPad(node));
  AMP_ASSIGN_OR_RETURN(const auto padding, ReadAxisNumbers(node, "output_padding", window.size()));
  AMP_ASSIGN_OR_RETURN(const auto shape, ReadAxisNumbers(node, "output_shape", window.size()));
  for (size_t i = 0; i < window.size(); ++i) {
    if (auto_pad != "NOTSET") window[i].pad_begin = window[i].pad_end = 0;
    TransposedAxis wanted;
    wanted.output_padding = padding.empty() ? 0 : padding[i];
    // As versions from 11 on state it; that of version 1 contradicts itself.
    wanted.more_at_begin = auto_pad != "SAME_UPPER";
    wanted.same = auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER";
    if (!shape.empty()) wanted.output = shape[i];
    AMP_RETURN_IF_ERROR(FitTransposed(wanted, window[i]));
  }
  return window;
}

absl::StatusOr<int64_t> ReadGroup(const Node& node, int64_t channels) {
  const int64_t group = GetInt(node, "group", 1);
  if (group < 1 || channels % group != 0) {
    return ModelError("group: expected a divisor of ", channels, " channels, found ", group);
  }
  return group;
}

absl::Status CheckConvolution(const Node& node, const Tensor& x, const Tensor& w) {
  if (x.rank() < 2 || x.rank() != w.rank()) {
    return ModelError("expected X and W of one rank of at least 2, found ", x.TypeText(), " and ", w.TypeText());
  }
  const std::optional<std::vector<int64_t>> kernel = GetInts(node, "kernel_shape");
  if (kernel.has_value() && !kernel->empty() && absl::MakeConstSpan(*kernel) != SpatialDims(w)) {
    return ModelError("kernel_shape: expected ", DimsText(SpatialDims(w)), " as W has, found ", DimsText(*kernel));
  }
  return absl::OkStatus();
}

absl::StatusOr<Window> SlideWindowForWeights(const Node& node, const Tensor& x, const Tensor& g) {
  if (x.rank() < 3 || x.rank() != g.rank() || x.dim(0) != g.dim(0)) {
    return ModelError("expected two of one rank of at least 3 and one batch, found ", x.TypeText(), " and ",
                      g.TypeText());
  }
  const std::vector<int64_t> kernel = GetInts(node, "kernel_shape").value_or(std::vector<int64_t>());
  AMP_ASSIGN_OR_RETURN(Window window, ReadWindow(node, SpatialDims(x), kernel));
  for (size_t i = 0; i < window.size(); ++i) {
    WindowAxis& axis = window[i];
    axis.output = g.dim(2 + i);
    const int64_t reach = (axis.output - 1) * axis.stride + axis.Extent();
    if (axis.output > 0 && reach > axis.input + axis.pad_begin + axis.pad_end) {
      return ModelError("expected windows within ", axis.input, " elements and pads of ", axis.pad_begin, " and ",
                        axis.pad_end, ", found ", axis.output, " of them");
    }
  }
  return window;
}

}  // namespace amp
