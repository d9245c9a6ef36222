// Concat, Split and Tile: a tensor out of several, several out of one, one out of many copies.
#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/kernel/layout.h"
#include "runtime/kernel/move_elements.h"
#include "runtime/kernel/shape_math.h"
#include "runtime/reference/families.h"
#include "runtime/reference/join.h"

namespace amp {
namespace {

// Channels-last if all inputs are, else row-major.
Layout CommonLayout(const KernelContext& context) {
  for (size_t i = 0; i < context.num_inputs(); ++i) {
    const Tensor& x = context.Input(i);
    if (x.layout() != Layout::kChannelsLast || x.rank() != context.Input(0).rank()) return Layout::kRowMajor;
  }
  return Layout::kChannelsLast;
}

absl::Status ConcatInputs(KernelContext& context) {
  std::optional<int64_t> axis = GetInt(context.node(), "axis");
  if (!axis.has_value() && context.version() < 4) axis = 1;
  if (!axis.has_value()) return ModelError("expected an axis, found none");
  const Layout layout = CommonLayout(context);
  const size_t rank = context.Input(0).rank();
  AMP_ASSIGN_OR_RETURN(const size_t along, NormalizeAxis(*axis, rank));
  TensorMemory* const memory = context.resources().memory;
  std::vector<Tensor> parts;
  for (size_t i = 0; i < context.num_inputs(); ++i) {
    AMP_ASSIGN_OR_RETURN(const Tensor part, InLayout(context.Input(i), layout, memory));
    parts.push_back(AsInMemory(part));
  }
  AMP_ASSIGN_OR_RETURN(const Tensor whole,
                       Join(parts, static_cast<int64_t>(AxisInMemory(along, rank, layout)), memory));
  context.SetOutput(0, FromMemory(whole, layout));
  return absl::OkStatus();
}

// The elements of a small input of any type of numbers: the first versions took counts as floats.
absl::StatusOr<std::vector<int64_t>> InputCounts(const KernelContext& context, size_t port) {
  const Tensor& tensor = context.Input(port);
  std::vector<int64_t> counts;
  bool whole = true;
  const bool known = VisitFloats(tensor.dtype(), [&]<typename T>(TypeTag<T>) {
    for (const T element : tensor.elements<T>()) {
      const double number = ToDouble(element);
      const bool fits = number >= 0 && number <= static_cast<double>(kMaxElements) && number == std::floor(number);
      whole = whole && fits;
      counts.push_back(fits ? static_cast<int64_t>(number) : 0);
    }
  });
  if (!known) return context.InputInts(port);
  if (!whole) return ModelError("input ", port, ": expected whole numbers of at least 0, found others");
  return counts;
}

// `count` sizes that are equal, or as from Split-18 on, all but the last.
absl::StatusOr<std::vector<int64_t>> EqualSizes(const KernelContext& context, int64_t dim) {
  const auto count = static_cast<int64_t>(context.num_outputs());
  const std::optional<int64_t> asked = GetInt(context.node(), "num_outputs");
  if (asked.has_value() && *asked != count) {
    return ModelError("expected num_outputs to be ", count, " as the node has, found ", *asked);
  }
  if (count == 0 || (context.version() < 18 && dim % count != 0)) {
    return ModelError("expected a dimension that ", count, " equal parts have, found ", dim);
  }
  const int64_t size = dim / count + (dim % count != 0 ? 1 : 0);
  std::vector<int64_t> sizes;
  for (int64_t rest = dim; static_cast<int64_t>(sizes.size()) < count; rest -= sizes.back()) {
    sizes.push_back(std::min(size, rest));
  }
  return sizes;
}

absl::StatusOr<std::vector<int64_t>> SplitSizes(const KernelContext& context, int64_t dim) {
  if (context.HasInput(1)) return InputCounts(context, 1);
  if (std::optional<std::vector<int64_t>> sizes = GetInts(context.node(), "split"); sizes.has_value()) {
    return *std::move(sizes);
  }
  return EqualSizes(context, dim);
}

absl::Status SplitInput(KernelContext& context) {
  const Tensor& x = context.Input(0);
  AMP_ASSIGN_OR_RETURN(const size_t axis, NormalizeAxis(GetInt(context.node(), "axis", 0), x.rank()));
  AMP_ASSIGN_OR_RETURN(const std::vector<int64_t> sizes, SplitSizes(context, x.dim(axis)));
  if (sizes.size() != context.num_outputs()) {
    return ModelError("expected ", context.num_outputs(), " sizes, found ", sizes.size());
  }
  AMP_ASSIGN_OR_RETURN(std::vector<Tensor> parts, Split(x, axis, sizes, context.memory()));
  for (size_t i = 0; i < parts.size(); ++i) context.SetOutput(i, std::move(parts[i]));
  return absl::OkStatus();
}

// How often the input comes along each of its axes.
absl::StatusOr<std::vector<int64_t>> Repeats(const KernelContext& context) {
  AMP_ASSIGN_OR_RETURN(std::vector<int64_t> repeats, InputCounts(context, 1));
  const size_t rank = context.Input(0).rank();
  if (context.version() < 6) {
    AMP_ASSIGN_OR_RETURN(const std::vector<int64_t> axis, InputCounts(context, 2));
    if (repeats.size() != 1 || axis.size() != 1) return ModelError("expected one count and one axis, found others");
    AMP_ASSIGN_OR_RETURN(const size_t along, NormalizeAxis(axis[0], rank));
    std::vector<int64_t> result(rank, 1);
    result[along] = repeats[0];
    return result;
  }
  if (repeats.size() != rank) return ModelError("expected ", rank, " counts, found ", DimsText(repeats));
  return repeats;
}

absl::Status Tile(KernelContext& context) {
  const Tensor& x = context.Input(0);
  AMP_ASSIGN_OR_RETURN(const std::vector<int64_t> repeats, Repeats(context));
  Dims dims;
  for (size_t axis = 0; axis < x.rank(); ++axis) {
    AMP_ASSIGN_OR_RETURN(const int64_t dim, CheckedProduct(x.dim(axis), repeats[axis]));
    dims.push_back(dim);
  }
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, x.dtype(), dims));
  if (y->num_elements() == 0) return absl::OkStatus();
  std::vector<std::vector<int64_t>> picks(x.rank());
  for (size_t axis = 0; axis < x.rank(); ++axis) {
    for (int64_t i = 0; i < dims[axis]; ++i) picks[axis].push_back(i % x.dim(axis));
  }
  return CopyPicked(x, picks, nullptr, *y);
}

constexpr KernelRow kRows[] = {
    {.op_type = "Concat", .function = ConcatInputs, .takes_channels_last = true},
    {"Split", SplitInput},
    {"Tile", Tile},
};

}  // namespace

absl::Span<const KernelRow> JoinKernels() { return kRows; }

}  // namespace amp
