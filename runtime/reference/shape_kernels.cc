// Operators that look at or change a tensor's shape; Transpose and Expand move elements as well.
#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "ir/file/tensor_view.h"
#include "runtime/kernel/layout.h"
#include "runtime/kernel/move_elements.h"
#include "runtime/kernel/shape_math.h"
#include "runtime/reference/families.h"

namespace amp {
namespace {

absl::Status CheckTensor(const KernelContext& context) {
  if (context.Input(0).dtype() != DType::kUndefined) return absl::OkStatus();
  return ModelError("expected a tensor, found ", context.InputDatum(0).TypeText());
}

// -1 is the last axis; what lies outside is cut to [0, rank].
size_t ClampedAxis(int64_t axis, size_t rank) {
  const auto signed_rank = static_cast<int64_t>(rank);
  return static_cast<size_t>(std::clamp(axis < 0 ? axis + signed_rank : axis, int64_t{0}, signed_rank));
}

absl::Status Shape(KernelContext& context) {
  AMP_RETURN_IF_ERROR(CheckTensor(context));
  const absl::Span<const int64_t> dims = context.Input(0).dims();
  const size_t first = ClampedAxis(GetInt(context.node(), "start", 0), dims.size());
  const std::optional<int64_t> end = GetInt(context.node(), "end");
  const size_t last = end.has_value() ? ClampedAxis(*end, dims.size()) : dims.size();
  context.SetOutput(0, Tensor::OfInts(dims.subspan(first, last > first ? last - first : 0)));
  return absl::OkStatus();
}

absl::Status Size(KernelContext& context) {
  AMP_RETURN_IF_ERROR(CheckTensor(context));
  context.SetOutput(0, Tensor::Scalar(context.Input(0).num_elements()));
  return absl::OkStatus();
}

// Output 0 is the input under other dims. Errors: it is no tensor, or has another number of elements.
absl::Status GiveReshaped(KernelContext& context, Dims dims) {
  AMP_RETURN_IF_ERROR(CheckTensor(context));
  const Tensor& x = context.Input(0);
  if (ElementCount(dims) != x.num_elements()) {
    return ModelError("expected a shape of ", x.num_elements(), " elements, found ", DimsText(dims));
  }
  context.SetOutput(0, x.Reshaped(std::move(dims)));
  return absl::OkStatus();
}

// Puts dimensions of x in the place of zeros.
absl::Status CopyDims(const Tensor& x, Dims& shape) {
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] != 0) continue;
    if (i >= x.rank()) return ModelError("expected an input with dimension ", i, ", found ", x.TypeText());
    shape[i] = x.dim(i);
  }
  return absl::OkStatus();
}

// Puts the one number that makes the counts equal in the place of -1.
absl::Status InferDim(const Tensor& x, Dims& shape) {
  const auto inferred = std::find(shape.begin(), shape.end(), -1);
  if (inferred == shape.end()) return absl::OkStatus();
  const std::string asked = DimsText(shape);
  *inferred = 1;
  const std::optional<int64_t> others = ElementCount(shape);  // nothing for a second -1
  if (!others.has_value() || *others == 0 || x.num_elements() % *others != 0) {
    return ModelError("expected a shape that ", x.TypeText(), " can take, found ", asked);
  }
  *inferred = x.num_elements() / *others;
  return absl::OkStatus();
}

absl::Status Reshape(KernelContext& context) {
  AMP_ASSIGN_OR_RETURN(std::optional<Dims> shape, context.IntsOfInputOrAttribute(1, "shape"));
  if (!shape.has_value()) return ModelError("expected a shape, found none");
  if (GetInt(context.node(), "allowzero", 0) == 0) AMP_RETURN_IF_ERROR(CopyDims(context.Input(0), *shape));
  AMP_RETURN_IF_ERROR(InferDim(context.Input(0), *shape));
  return GiveReshaped(context, *std::move(shape));
}

absl::Status Flatten(KernelContext& context) {
  const Tensor& x = context.Input(0);
  const auto rank = static_cast<int64_t>(x.rank());
  const int64_t axis = GetInt(context.node(), "axis", 1);
  if (axis < -rank || axis > rank) return ModelError("expected an axis in [", -rank, ", ", rank, "], found ", axis);
  const auto split = static_cast<size_t>(axis < 0 ? axis + rank : axis);
  return GiveReshaped(context, {ElementsBetween(x.dims(), 0, split), ElementsBetween(x.dims(), split, x.rank())});
}

absl::Status Squeeze(KernelContext& context) {
  const Tensor& x = context.Input(0);
  AMP_ASSIGN_OR_RETURN(const std::optional<std::vector<int64_t>> given, context.IntsOfInputOrAttribute(1, "axes"));
  std::vector<bool> removed(x.rank());
  for (size_t axis = 0; axis < x.rank(); ++axis) removed[axis] = !given.has_value() && x.dim(axis) == 1;
  if (given.has_value()) {
    AMP_ASSIGN_OR_RETURN(const std::vector<size_t> axes, NormalizeAxes(*given, x.rank()));
    for (const size_t axis : axes) {
      if (x.dim(axis) != 1) return ModelError("expected dimension ", axis, " to be 1, found ", x.TypeText());
      removed[axis] = true;
    }
  }
  Dims dims;
  for (size_t axis = 0; axis < x.rank(); ++axis) {
    if (!removed[axis]) dims.push_back(x.dim(axis));
  }
  return GiveReshaped(context, std::move(dims));
}

absl::Status Unsqueeze(KernelContext& context) {
  AMP_ASSIGN_OR_RETURN(const std::optional<std::vector<int64_t>> given, context.IntsOfInputOrAttribute(1, "axes"));
  if (!given.has_value()) return ModelError("expected axes, found none");
  Dims dims = context.Input(0).dims();
  AMP_ASSIGN_OR_RETURN(const std::vector<size_t> axes, NormalizeAxes(*given, dims.size() + given->size()));
  Dims result(dims.size() + axes.size(), 0);
  for (const size_t axis : axes) result[axis] = 1;
  auto next = dims.begin();
  size_t next_axis = 0;
  for (size_t axis = 0; axis < result.size(); ++axis) {
    const bool is_new = next_axis < axes.size() && axes[next_axis] == axis;
    if (is_new) {
      ++next_axis;
    } else {
      result[axis] = *next++;
    }
  }
  return GiveReshaped(context, std::move(result));
}

// The axis of x that each axis of the output is. Errors: not each of them once.
absl::StatusOr<std::vector<size_t>> Permutation(const KernelContext& context, size_t rank) {
  std::vector<size_t> result(rank);
  const std::optional<std::vector<int64_t>> perm = GetInts(context.node(), "perm");
  if (!perm.has_value()) {
    std::iota(result.rbegin(), result.rend(), size_t{0});
    return result;
  }
  AMP_RETURN_IF_ERROR(NormalizeAxes(*perm, rank).status());
  if (perm->size() != rank) return ModelError("expected a permutation of ", rank, " axes, found ", DimsText(*perm));
  for (size_t i = 0; i < rank; ++i) {
    AMP_ASSIGN_OR_RETURN(result[i], NormalizeAxis((*perm)[i], rank));
  }
  return result;
}

// Whether elements at these strides lie in the order of the dims.
bool MovesNothing(const Dims& dims, const Dims& strides) {
  const Dims in_order = RowStrides(dims);
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] != 1 && strides[i] != in_order[i]) return false;
  }
  return true;
}

// In either layout: what moves no element in memory has those of x.
absl::Status Transpose(KernelContext& context) {
  const Tensor& input = context.Input(0);
  AMP_ASSIGN_OR_RETURN(const std::vector<size_t> perm, Permutation(context, input.rank()));
  const Tensor x = AsInMemory(input);
  const Dims from = RowStrides(x.dims());
  Dims dims, strides;
  for (const size_t axis : perm) {
    const size_t at = AxisInMemory(axis, x.rank(), input.layout());
    dims.push_back(x.dim(at));
    strides.push_back(from[at]);
  }
  if (MovesNothing(dims, strides)) {
    context.SetOutput(0, x.Reshaped(std::move(dims)));
    return absl::OkStatus();
  }
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, x.dtype(), std::move(dims)));
  return CopyStrided(x, 0, strides, *y);
}

absl::Status Expand(KernelContext& context) {
  const Tensor& x = context.Input(0);
  AMP_ASSIGN_OR_RETURN(const Dims shape, context.InputInts(1));
  AMP_ASSIGN_OR_RETURN(Dims dims, BroadcastDims(x.dims(), shape));
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, x.dtype(), dims));
  return CopyStrided(x, 0, BroadcastStrides(x.dims(), dims), *y);
}

constexpr KernelRow kRows[] = {
    {.op_type = "Shape", .function = Shape, .takes_channels_last = true, .host_inputs = {}},
    {.op_type = "Size", .function = Size, .takes_channels_last = true, .host_inputs = {}},
    {.op_type = "Reshape", .function = Reshape, .host_inputs = {1}},
    {.op_type = "Flatten", .function = Flatten, .host_inputs = {}},
    {.op_type = "Squeeze", .function = Squeeze, .host_inputs = {1}},
    {.op_type = "Unsqueeze", .function = Unsqueeze, .host_inputs = {1}},
    {.op_type = "Transpose", .function = Transpose, .takes_channels_last = true},
    {"Expand", Expand},
};

}  // namespace

absl::Span<const KernelRow> ShapeKernels() { return kRows; }

}  // namespace amp
