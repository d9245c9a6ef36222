// Gradients of what moves elements, and the operators of ONNX Runtime's training graphs that stand in for Concat, Split
// and ReduceSum: an element that was read several times gets the sum of what comes back.
//
//   dx = com.microsoft.GatherGrad (shape, indices, dy)     dx = com.microsoft.SliceGrad (dy, shape, starts, ends, axes)
#include <algorithm>
#include <utility>
#include <vector>

#include "runtime/forms/reduction.h"
#include "runtime/kernel/cells.h"
#include "runtime/kernel/index_places.h"
#include "runtime/kernel/shape_math.h"
#include "runtime/reference/accumulator.h"
#include "runtime/reference/float_cells.h"
#include "runtime/reference/join.h"
#include "runtime/reference/slice_range.h"
#include "runtime/reference/training_families.h"

namespace amp {
namespace {

// float64 zeros of the shape that input `port` holds.
absl::StatusOr<Tensor> ZerosOf(const KernelContext& context, size_t port) {
  AMP_ASSIGN_OR_RETURN(Dims dims, context.InputInts(port));
  for (const int64_t dim : dims) {
    if (dim < 0) return ModelError("input ", port, ": expected a shape, found ", DimsText(dims));
  }
  return FilledFloat64(std::move(dims), 0);
}

absl::Status SetGradient(KernelContext& context, const Tensor& gradient, DType dtype) {
  AMP_ASSIGN_OR_RETURN(Tensor rounded, FromAccumulator(gradient, dtype));
  context.SetOutput(0, std::move(rounded));
  return absl::OkStatus();
}

absl::Status CheckShape(const KernelContext& context, size_t port, const Dims& dims) {
  if (context.Input(port).dims() == dims) return absl::OkStatus();
  return ModelError("input ", port, ": expected shape ", DimsText(dims), ", found ",
                    context.InputDatum(port).TypeText());
}

// Inputs: the shape, the indices, dy.
absl::Status GatherGrad(KernelContext& context) {
  AMP_ASSIGN_OR_RETURN(Tensor gradient, ZerosOf(context, 0));
  AMP_ASSIGN_OR_RETURN(const size_t axis, NormalizeAxis(GetInt(context.node(), "axis", 0), gradient.rank()));
  AMP_ASSIGN_OR_RETURN(std::vector<int64_t> indices, context.InputInts(1));
  AMP_RETURN_IF_ERROR(NormalizeIndices(absl::MakeSpan(indices), gradient.dim(axis)));
  Dims dims = gradient.dims();
  dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(axis));
  const Dims& picked = context.Input(1).dims();
  dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(axis), picked.begin(), picked.end());
  AMP_RETURN_IF_ERROR(CheckShape(context, 2, dims));
  AMP_ASSIGN_OR_RETURN(const std::vector<double> dy, ReadFloats(context, 2));
  const AxisView view(gradient.dims(), axis);
  const auto out = gradient.mutable_elements<double>();
  for (size_t i = 0; i < dy.size(); ++i) {
    const size_t inner = i % view.inner, pick = i / view.inner % indices.size(),
                 outer = i / view.inner / indices.size();
    out[(outer * view.size + static_cast<size_t>(indices[pick])) * view.inner + inner] += dy[i];
  }
  return SetGradient(context, gradient, context.Input(2).dtype());
}

absl::StatusOr<Indices> ReadIndices(const KernelContext& context, size_t port) {
  AMP_ASSIGN_OR_RETURN(std::vector<int64_t> elements, context.InputInts(port));
  return Indices{context.Input(port).dims(), std::move(elements)};
}

// Adds dy, a run of elements for each place.
absl::Status AddAtPlaces(KernelContext& context, const Places& places, size_t port, Tensor& gradient) {
  AMP_ASSIGN_OR_RETURN(const std::vector<double> dy, ReadFloats(context, port, places.firsts.size() * places.run));
  const auto out = gradient.mutable_elements<double>();
  for (size_t i = 0; i < dy.size(); ++i) out[places.firsts[i / places.run] + i % places.run] += dy[i];
  return SetGradient(context, gradient, context.Input(port).dtype());
}

// Inputs: dy, the shape, the indices.
absl::Status GatherElementsGrad(KernelContext& context) {
  AMP_ASSIGN_OR_RETURN(Tensor gradient, ZerosOf(context, 1));
  AMP_ASSIGN_OR_RETURN(Indices indices, ReadIndices(context, 2));
  AMP_RETURN_IF_ERROR(CheckShape(context, 0, indices.dims));
  AMP_ASSIGN_OR_RETURN(const Places places,
                       ElementPlaces(gradient.dims(), GetInt(context.node(), "axis", 0), std::move(indices)));
  return AddAtPlaces(context, places, 0, gradient);
}

// Inputs: the shape, the indices, dy.
absl::Status GatherNDGrad(KernelContext& context) {
  AMP_ASSIGN_OR_RETURN(Tensor gradient, ZerosOf(context, 0));
  AMP_ASSIGN_OR_RETURN(const Indices indices, ReadIndices(context, 1));
  AMP_ASSIGN_OR_RETURN(const Places places,
                       TuplePlaces(gradient.dims(), indices, GetInt(context.node(), "batch_dims", 0)));
  return AddAtPlaces(context, places, 2, gradient);
}

// Ranges along the axes of `dims`: inputs 2 to 5 are starts, ends, axes and steps.
absl::StatusOr<std::vector<SliceRange>> ReadRanges(const KernelContext& context, const Dims& dims) {
  AMP_ASSIGN_OR_RETURN(const std::vector<int64_t> starts, context.InputInts(2));
  AMP_ASSIGN_OR_RETURN(const std::vector<int64_t> ends, context.InputInts(3));
  std::vector<int64_t> axes, steps(starts.size(), 1);
  for (size_t i = 0; i < starts.size(); ++i) axes.push_back(static_cast<int64_t>(i));
  if (context.HasInput(4)) {
    AMP_ASSIGN_OR_RETURN(axes, context.InputInts(4));
  }
  if (context.HasInput(5)) {
    AMP_ASSIGN_OR_RETURN(steps, context.InputInts(5));
  }
  const bool fits = ends.size() == starts.size() && axes.size() == starts.size() && steps.size() == starts.size() &&
                    std::find(steps.begin(), steps.end(), 0) == steps.end();
  if (!fits) return ModelError("expected as many ends, axes and steps, none of them 0, as starts");
  std::vector<SliceRange> ranges;
  for (const int64_t dim : dims) ranges.push_back({.first = 0, .count = dim, .step = 1});
  for (size_t i = 0; i < starts.size(); ++i) {
    AMP_ASSIGN_OR_RETURN(const size_t axis, NormalizeAxis(axes[i], dims.size()));
    ranges[axis] = RangeOf(starts[i], ends[i], steps[i], dims[axis]);
  }
  return ranges;
}

// Inputs: dy, the shape, and what Slice was given.
absl::Status SliceGrad(KernelContext& context) {
  AMP_ASSIGN_OR_RETURN(Tensor gradient, ZerosOf(context, 1));
  AMP_ASSIGN_OR_RETURN(const std::vector<SliceRange> ranges, ReadRanges(context, gradient.dims()));
  const Dims from = RowStrides(gradient.dims());
  Dims dims, strides;
  int64_t first = 0;
  for (size_t axis = 0; axis < ranges.size(); ++axis) {
    dims.push_back(ranges[axis].count);
    strides.push_back(ranges[axis].step * from[axis]);
    first += ranges[axis].first * from[axis];
  }
  AMP_RETURN_IF_ERROR(CheckShape(context, 0, dims));
  AMP_ASSIGN_OR_RETURN(const std::vector<double> dy, ReadFloats(context, 0));
  const auto out = gradient.mutable_elements<double>();
  size_t i = 0;
  StridedWalk walk(dims, {strides});
  for (walk.Start(0, first); !walk.AtEnd(); walk.Next()) out[walk[0]] += dy[i++];
  return SetGradient(context, gradient, context.Input(0).dtype());
}

// Concat whose second output says how long each part is.
absl::Status ConcatTraining(KernelContext& context) {
  std::vector<Tensor> parts;
  for (size_t port = 0; port < context.num_inputs(); ++port) parts.push_back(context.Input(port));
  const int64_t stated = GetInt(context.node(), "axis", 0);
  AMP_ASSIGN_OR_RETURN(Tensor whole, Join(parts, stated, context.memory()));
  AMP_ASSIGN_OR_RETURN(const size_t axis, NormalizeAxis(stated, whole.rank()));
  context.SetOutput(0, std::move(whole));
  AMP_ASSIGN_OR_RETURN(Tensor * lengths, context.MakeOutput(1, DType::kInt64, {static_cast<int64_t>(parts.size())}));
  for (size_t i = 0; i < parts.size(); ++i) lengths->mutable_elements<int64_t>()[i] = parts[i].dim(axis);
  return absl::OkStatus();
}

// Inputs: the tensor, the lengths of the parts.
absl::Status SplitTraining(KernelContext& context) {
  const Tensor& x = context.Input(0);
  AMP_ASSIGN_OR_RETURN(const size_t axis, NormalizeAxis(GetInt(context.node(), "axis", 0), x.rank()));
  AMP_ASSIGN_OR_RETURN(const std::vector<int64_t> lengths, context.InputInts(1));
  if (lengths.size() != context.num_outputs()) {
    return ModelError("expected ", context.num_outputs(), " lengths, found ", lengths.size());
  }
  AMP_ASSIGN_OR_RETURN(std::vector<Tensor> parts, Split(x, axis, lengths, context.memory()));
  for (size_t i = 0; i < parts.size(); ++i) context.SetOutput(i, std::move(parts[i]));
  return absl::OkStatus();
}

// Inputs: the tensor, the axes.
absl::Status ReduceSumTraining(KernelContext& context) {
  const Tensor& x = context.Input(0);
  AMP_ASSIGN_OR_RETURN(const ReductionForm form, ReadReduction(context));
  AMP_ASSIGN_OR_RETURN(const std::vector<double> values, ReadFloats(context, 0));
  const Cells cells = CellsAlong(x.dims(), form.axes);
  std::vector<double> sums(cells.starts.size(), 0.0);
  for (size_t cell = 0; cell < sums.size(); ++cell) {
    for (const size_t offset : cells.offsets) sums[cell] += values[cells.starts[cell] + offset];
  }
  return WriteOutput(context, 0, x.dtype(), form.dims, sums);
}

absl::Status SetAxes(KernelContext& context, size_t port, const std::vector<int64_t>& axes) {
  AMP_ASSIGN_OR_RETURN(Tensor * output, context.MakeOutput(port, DType::kInt64, {static_cast<int64_t>(axes.size())}));
  std::copy(axes.begin(), axes.end(), output->mutable_elements<int64_t>().begin());
  return absl::OkStatus();
}

// Gives, for two shapes that broadcast, the axes along which each operand was repeated, the last one first.
absl::Status BroadcastGradientArgs(KernelContext& context) {
  AMP_ASSIGN_OR_RETURN(const std::vector<int64_t> a, context.InputInts(0));
  AMP_ASSIGN_OR_RETURN(const std::vector<int64_t> b, context.InputInts(1));
  AMP_RETURN_IF_ERROR(BroadcastDims(a, b).status());
  const size_t rank = std::max(a.size(), b.size());
  std::vector<int64_t> axes_of_a, axes_of_b;
  for (size_t back = 0; back < rank; ++back) {
    const auto axis = static_cast<int64_t>(rank - 1 - back);
    const bool a_has = back < a.size(), b_has = back < b.size();
    const int64_t dim_a = a_has ? a[a.size() - 1 - back] : 1, dim_b = b_has ? b[b.size() - 1 - back] : 1;
    if (!a_has || (b_has && dim_a == 1 && dim_b != 1)) axes_of_a.push_back(axis);
    if (!b_has || (a_has && dim_b == 1 && dim_a != 1)) axes_of_b.push_back(axis);
  }
  AMP_RETURN_IF_ERROR(SetAxes(context, 0, axes_of_a));
  return SetAxes(context, 1, axes_of_b);
}

constexpr absl::string_view kDomain = "com.microsoft";
constexpr KernelRow kRows[] = {
    {"GatherGrad", GatherGrad, kDomain},
    {"GatherElementsGrad", GatherElementsGrad, kDomain},
    {"GatherNDGrad", GatherNDGrad, kDomain},
    {"SliceGrad", SliceGrad, kDomain},
    {"ConcatTraining", ConcatTraining, kDomain},
    {"SplitTraining", SplitTraining, kDomain},
    {"ReduceSumTraining", ReduceSumTraining, kDomain},
    {"BroadcastGradientArgs", BroadcastGradientArgs, kDomain},
};

}  // namespace

absl::Span<const KernelRow> MovementGradientKernels() { return kRows; }

}  // namespace amp
