// Parts of tensors: Slice, Crop and CenterCropPad, Trilu; and ReverseSequence, which turns parts around.
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/kernel/move_elements.h"
#include "runtime/kernel/shape_math.h"
#include "runtime/reference/families.h"
#include "runtime/reference/slice_range.h"

namespace amp {
namespace {

using Range = SliceRange;

struct SliceLists {
  std::vector<int64_t> starts, ends, axes, steps;
};

absl::StatusOr<SliceLists> ReadSliceLists(const KernelContext& context) {
  SliceLists lists;
  AMP_ASSIGN_OR_RETURN(const std::optional<Dims> starts, context.IntsOfInputOrAttribute(1, "starts"));
  AMP_ASSIGN_OR_RETURN(const std::optional<Dims> ends, context.IntsOfInputOrAttribute(2, "ends"));
  AMP_ASSIGN_OR_RETURN(const std::optional<Dims> axes, context.IntsOfInputOrAttribute(3, "axes"));
  if (!starts.has_value() || !ends.has_value()) return ModelError("expected starts and ends, found none");
  lists.starts = *starts;
  lists.ends = *ends;
  for (size_t i = 0; !axes.has_value() && i < starts->size(); ++i) lists.axes.push_back(static_cast<int64_t>(i));
  if (axes.has_value()) lists.axes = *axes;
  lists.steps.assign(starts->size(), 1);
  if (context.HasInput(4)) {
    AMP_ASSIGN_OR_RETURN(lists.steps, context.InputInts(4));
  }
  for (const auto* list : {&lists.ends, &lists.axes, &lists.steps}) {
    if (list->size() != starts->size()) {
      return ModelError("expected ", starts->size(), " ends, axes and steps, found ", list->size());
    }
  }
  if (std::find(lists.steps.begin(), lists.steps.end(), 0) != lists.steps.end()) {
    return ModelError("expected steps other than 0, found ", DimsText(lists.steps));
  }
  return lists;
}

// Output 0 is, along each axis of the input, the elements that the range names.
absl::Status GiveRanges(KernelContext& context, absl::Span<const Range> ranges) {
  const Tensor& x = context.Input(0);
  const Dims from = RowStrides(x.dims());
  Dims dims, strides;
  for (const Range& range : ranges) dims.push_back(range.count);
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, x.dtype(), std::move(dims)));
  if (y->num_elements() == 0) return absl::OkStatus();
  int64_t start = 0;
  for (size_t axis = 0; axis < ranges.size(); ++axis) {
    start += ranges[axis].first * from[axis];
    strides.push_back(ranges[axis].count == 1 ? 0 : ranges[axis].step * from[axis]);
  }
  return CopyStrided(x, start, strides, *y);
}

std::vector<Range> WholeRanges(const Tensor& x) {
  std::vector<Range> ranges;
  for (const int64_t dim : x.dims()) ranges.push_back({.first = 0, .count = dim, .step = 1});
  return ranges;
}

absl::Status Slice(KernelContext& context) {
  const Tensor& x = context.Input(0);
  AMP_ASSIGN_OR_RETURN(const SliceLists lists, ReadSliceLists(context));
  AMP_RETURN_IF_ERROR(NormalizeAxes(lists.axes, x.rank()).status());
  std::vector<Range> ranges = WholeRanges(x);
  for (size_t i = 0; i < lists.axes.size(); ++i) {
    AMP_ASSIGN_OR_RETURN(const size_t axis, NormalizeAxis(lists.axes[i], x.rank()));
    ranges[axis] = RangeOf(lists.starts[i], lists.ends[i], lists.steps[i], x.dim(axis));
  }
  return GiveRanges(context, ranges);
}

// Cuts a border of [left, top, right, bottom] off images [N, C, H, W]. With a scale, which is [height, width], only the
// left and top border is cut, and all that lies beyond that size.
absl::Status Crop(KernelContext& context) {
  const Tensor& x = context.Input(0);
  const std::optional<std::vector<int64_t>> border = GetInts(context.node(), "border");
  const std::optional<std::vector<int64_t>> scale = GetInts(context.node(), "scale");
  if (x.rank() != 4) return ModelError("expected [N, C, H, W], found ", x.TypeText());
  if (!border.has_value() || border->size() != 4) return ModelError("expected a border of 4 numbers, found another");
  if (scale.has_value() && scale->size() != 2) return ModelError("expected a scale of 2 numbers, found another");
  std::vector<Range> ranges = WholeRanges(x);
  for (const size_t i : {0u, 1u}) {  // rows, then columns
    const int64_t dim = x.dim(2 + i), before = (*border)[1 - i], after = scale.has_value() ? 0 : (*border)[3 - i];
    const int64_t rest = before < 0 || before > dim || after < 0 || after > dim ? -1 : dim - before - after;
    const int64_t count = scale.has_value() ? (*scale)[i] : rest;
    if (rest < 0 || count < 0 || count > rest) {
      return ModelError("expected a border and a scale within ", x.TypeText(), ", found more");
    }
    ranges[2 + i] = {.first = before, .count = count, .step = 1};
  }
  return GiveRanges(context, ranges);
}

// The indices along an axis of `dim` elements that a window of `size` in its centre has.
std::vector<int64_t> CenteredPicks(int64_t dim, int64_t size) {
  const int64_t skipped = dim > size ? (dim - size) / 2 : 0, padded = size > dim ? (size - dim) / 2 : 0;
  std::vector<int64_t> picks;
  for (int64_t i = 0; i < size; ++i) {
    const int64_t index = i - padded + skipped;
    picks.push_back(index < 0 || index >= dim ? kNowhere : index);
  }
  return picks;
}

absl::Status CenterCropPad(KernelContext& context) {
  const Tensor& x = context.Input(0);
  AMP_ASSIGN_OR_RETURN(const std::vector<int64_t> shape, context.InputInts(1));
  std::vector<int64_t> axes;
  for (size_t i = 0; i < x.rank(); ++i) axes.push_back(static_cast<int64_t>(i));
  axes = GetInts(context.node(), "axes").value_or(axes);
  AMP_RETURN_IF_ERROR(NormalizeAxes(axes, x.rank()).status());
  if (axes.size() != shape.size()) return ModelError("expected ", axes.size(), " sizes, found ", DimsText(shape));
  Dims dims = x.dims();
  for (size_t i = 0; i < axes.size(); ++i) {
    AMP_ASSIGN_OR_RETURN(const size_t axis, NormalizeAxis(axes[i], x.rank()));
    dims[axis] = shape[i];
  }
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, x.dtype(), dims));
  if (y->num_elements() == 0) return absl::OkStatus();
  std::vector<std::vector<int64_t>> picks;
  for (size_t axis = 0; axis < dims.size(); ++axis) picks.push_back(CenteredPicks(x.dim(axis), dims[axis]));
  return CopyPicked(x, picks, nullptr, *y);
}

absl::Status Trilu(KernelContext& context) {
  const Tensor& x = context.Input(0);
  if (x.rank() < 2) return ModelError("expected matrices, found ", x.TypeText());
  const int64_t height = x.dim(x.rank() - 2), width = x.dim(x.rank() - 1);
  int64_t k = 0;
  if (context.HasInput(1)) {
    AMP_ASSIGN_OR_RETURN(k, context.InputInt(1));
  }
  k = std::clamp(k, -height, width);
  const bool upper = GetInt(context.node(), "upper", 1) != 0;
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, x.dtype(), x.dims()));
  FillWithZero(*y);
  const int64_t rows = width == 0 ? 0 : x.num_elements() / width;
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t diagonal = row % height + k;
    const int64_t first = upper ? std::clamp(diagonal, int64_t{0}, width) : 0;
    const int64_t last = upper ? width : std::clamp(diagonal + 1, int64_t{0}, width);
    const auto place = static_cast<size_t>(row * width + first);
    CopyElements(x, place, *y, place, static_cast<size_t>(last - first));
  }
  return absl::OkStatus();
}

absl::Status ReverseSequence(KernelContext& context) {
  const Tensor& x = context.Input(0);
  const int64_t batch_axis = GetInt(context.node(), "batch_axis", 1),
                time_axis = GetInt(context.node(), "time_axis", 0);
  if (x.rank() < 2) return ModelError("expected at least 2 dimensions, found ", x.TypeText());
  if (!(batch_axis == 0 && time_axis == 1) && !(batch_axis == 1 && time_axis == 0)) {
    return ModelError("expected axes 0 and 1, found ", batch_axis, " and ", time_axis);
  }
  const bool time_is_first = time_axis == 0;
  const int64_t batch = x.dim(time_is_first ? 1 : 0), time = x.dim(time_is_first ? 0 : 1);
  AMP_ASSIGN_OR_RETURN(const std::vector<int64_t> lengths, context.InputInts(1));
  if (static_cast<int64_t>(lengths.size()) != batch) {
    return ModelError("expected ", batch, " lengths, found ", lengths.size());
  }
  for (const int64_t length : lengths) {
    if (length < 0 || length > time) return ModelError("expected lengths in [0, ", time, "], found ", length);
  }
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, x.dtype(), x.dims()));
  if (y->num_elements() == 0) return absl::OkStatus();
  const auto run = static_cast<size_t>(ElementsBetween(x.dims(), 2, x.rank()));
  for (int64_t b = 0; b < batch; ++b) {
    const int64_t length = lengths[static_cast<size_t>(b)];
    for (int64_t t = 0; t < time; ++t) {
      const int64_t from = t < length ? length - 1 - t : t;
      const auto place = [&](int64_t at) {
        return static_cast<size_t>(time_is_first ? at * batch + b : b * time + at);
      };
      CopyElements(x, place(from) * run, *y, place(t) * run, run);
    }
  }
  return absl::OkStatus();
}

constexpr KernelRow kRows[] = {
    {"Slice", Slice},
    {"Crop", Crop},
    {"CenterCropPad", CenterCropPad},
    {"Trilu", Trilu},
    {"ReverseSequence", ReverseSequence},
};

}  // namespace

absl::Span<const KernelRow> SliceKernels() { return kRows; }

}  // namespace amp
