// Operators that pick elements by where they are: by indices, or by a mask.
#include <optional>
#include <utility>
#include <vector>

#include "runtime/kernel/index_places.h"
#include "runtime/kernel/move_elements.h"
#include "runtime/kernel/shape_math.h"
#include "runtime/reference/families.h"

namespace amp {
namespace {

// The dims of x with those of `picked` in the place of one axis.
Dims WithAxisReplaced(const Dims& dims, size_t axis, const Dims& picked) {
  Dims result = dims;
  const auto at = result.erase(result.begin() + static_cast<std::ptrdiff_t>(axis));
  result.insert(at, picked.begin(), picked.end());
  return result;
}

absl::Status Gather(KernelContext& context) {
  const Tensor& x = context.Input(0);
  AMP_ASSIGN_OR_RETURN(const size_t axis, NormalizeAxis(GetInt(context.node(), "axis", 0), x.rank()));
  AMP_ASSIGN_OR_RETURN(std::vector<int64_t> indices, context.InputInts(1));
  AMP_RETURN_IF_ERROR(NormalizeIndices(absl::MakeSpan(indices), x.dim(axis)));
  AMP_ASSIGN_OR_RETURN(Tensor * y,
                       context.MakeOutput(0, x.dtype(), WithAxisReplaced(x.dims(), axis, context.Input(1).dims())));
  return CopyAlong(x, axis, indices, *y);
}

// Elements of x in which each index replaces its own coordinate along the axis, in one pass over the indices. Returns
// false if one of these is out of range.
template <typename T, typename Index>
bool PickElements(const Tensor& x, size_t axis, const Tensor& indices, T* out) {
  Dims strides = RowStrides(x.dims());
  const auto step = static_cast<size_t>(std::exchange(strides[axis], 0)), next = static_cast<size_t>(strides.back());
  strides.pop_back();
  const auto size = static_cast<uint64_t>(x.dim(axis));
  const auto line = static_cast<size_t>(indices.dims().back());
  const T* const in = x.elements<T>().data();
  const Index* index = indices.elements<Index>().data();
  bool is_in_range = true;
  const Dims outer(indices.dims().begin(), indices.dims().end() - 1);
  for (StridedWalk walk(outer, {strides}); !walk.AtEnd(); walk.Next(), index += line, out += line) {
    const T* const of_line = in + walk[0];
    for (size_t i = 0; i < line; ++i) {
      uint64_t at = static_cast<uint64_t>(int64_t{index[i]});
      at += index[i] < 0 ? size : 0;
      is_in_range &= at < size;
      out[i] = of_line[i * next + (at < size ? at : 0) * step];
    }
  }
  return is_in_range;
}

// Whether the output is done; else the general way does it, or says what is wrong.
absl::StatusOr<bool> GatherInOnePass(KernelContext& context, int64_t along) {
  const Tensor &x = context.Input(0), &indices = context.Input(1);
  const bool has_int64 = indices.dtype() == DType::kInt64;
  if (x.mover() != nullptr || indices.mover() != nullptr || x.dtype() == DType::kString) return false;
  if ((!has_int64 && indices.dtype() != DType::kInt32) || x.num_elements() == 0 || indices.num_elements() == 0) {
    return false;
  }
  AMP_ASSIGN_OR_RETURN(const size_t axis, NormalizeAxis(along, x.rank()));
  AMP_RETURN_IF_ERROR(CheckElementDims(x.dims(), axis, indices.dims()));
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, x.dtype(), indices.dims()));
  bool is_done = false;
  const bool is_known = VisitStorage(x.dtype(), [&]<typename T>(TypeTag<T>) {
    T* const out = y->mutable_elements<T>().data();
    is_done =
        has_int64 ? PickElements<T, int64_t>(x, axis, indices, out) : PickElements<T, int32_t>(x, axis, indices, out);
  });
  return is_known && is_done;
}

absl::Status GatherElements(KernelContext& context) {
  const Tensor& x = context.Input(0);
  const int64_t along = GetInt(context.node(), "axis", 0);
  AMP_ASSIGN_OR_RETURN(const bool is_done, GatherInOnePass(context, along));
  if (is_done) return absl::OkStatus();
  AMP_ASSIGN_OR_RETURN(std::vector<int64_t> indices, context.InputInts(1));
  const Dims& dims = context.Input(1).dims();
  AMP_ASSIGN_OR_RETURN(const Places places, ElementPlaces(x.dims(), along, {dims, std::move(indices)}));
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, x.dtype(), dims));
  return CopyRuns(x, places.firsts, places.run, *y);
}

absl::Status GatherNd(KernelContext& context) {
  const Tensor& x = context.Input(0);
  AMP_ASSIGN_OR_RETURN(std::vector<int64_t> elements, context.InputInts(1));
  const Indices indices = {context.Input(1).dims(), std::move(elements)};
  const int64_t batch_dims = GetInt(context.node(), "batch_dims", 0);
  AMP_ASSIGN_OR_RETURN(const Places places, TuplePlaces(x.dims(), indices, batch_dims));
  Dims dims(indices.dims.begin(), indices.dims.end() - 1);
  dims.insert(dims.end(), x.dims().begin() + batch_dims + indices.dims.back(), x.dims().end());
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, x.dtype(), std::move(dims)));
  return CopyRuns(x, places.firsts, places.run, *y);
}

absl::Status Compress(KernelContext& context) {
  const std::optional<int64_t> given = GetInt(context.node(), "axis");
  const Tensor& input = context.Input(0);
  const Tensor x = given.has_value() ? input : input.Reshaped({input.num_elements()});
  AMP_ASSIGN_OR_RETURN(const size_t axis, NormalizeAxis(given.value_or(0), x.rank()));
  const Tensor& mask = context.Input(1);
  if (mask.dtype() != DType::kBool || mask.rank() != 1) return ModelError("expected bool[n], found ", mask.TypeText());
  std::vector<int64_t> indices;
  for (int64_t i = 0; i < mask.num_elements(); ++i) {
    if (mask.elements<bool>()[static_cast<size_t>(i)]) indices.push_back(i);
  }
  if (!indices.empty() && indices.back() >= x.dim(axis)) {
    return ModelError("expected a mask of ", x.dim(axis), " elements, found one that has ", indices.back());
  }
  AMP_ASSIGN_OR_RETURN(
      Tensor * y,
      context.MakeOutput(0, x.dtype(), WithAxisReplaced(x.dims(), axis, {static_cast<int64_t>(indices.size())})));
  return CopyAlong(x, axis, indices, *y);
}

// Picks along the last axis; what a list has becomes a matrix of one row.
absl::Status ArrayFeatureExtractor(KernelContext& context) {
  const Tensor& input = context.Input(0);
  const Tensor x = input.rank() == 1 ? input.Reshaped({1, input.num_elements()}) : input;
  if (x.rank() == 0) return ModelError("expected at least one dimension, found ", x.TypeText());
  AMP_ASSIGN_OR_RETURN(std::vector<int64_t> indices, context.InputInts(1));
  const size_t axis = x.rank() - 1;
  AMP_RETURN_IF_ERROR(NormalizeIndices(absl::MakeSpan(indices), x.dim(axis)));
  Dims dims = x.dims();
  dims[axis] = static_cast<int64_t>(indices.size());
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, x.dtype(), std::move(dims)));
  return CopyAlong(x, axis, indices, *y);
}

constexpr KernelRow kRows[] = {
    {"Gather", Gather},
    {"GatherElements", GatherElements},
    {"GatherND", GatherNd},
    {"Compress", Compress},
    {"ArrayFeatureExtractor", ArrayFeatureExtractor, "ai.onnx.ml"},
};

}  // namespace

absl::Span<const KernelRow> GatherKernels() { return kRows; }

}  // namespace amp
