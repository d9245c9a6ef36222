// Operators that write updates into a copy of a tensor, at the places that indices lead to.
#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "runtime/forms/scatter.h"
#include "runtime/kernel/move_elements.h"
#include "runtime/kernel/no_kernel_error.h"
#include "runtime/kernel/shape_math.h"
#include "runtime/reference/families.h"
#include "runtime/reference/read_once.h"
#include "runtime/reference/wide_arithmetic.h"

namespace amp {
namespace {

// Calls visit(place in the output, place in the updates) for every element of the updates.
template <typename Visit>
void VisitUpdates(const Places& places, Visit visit) {
  for (size_t i = 0; i < places.firsts.size(); ++i) {
    for (size_t j = 0; j < places.run; ++j) visit(places.firsts[i] + j, i * places.run + j);
  }
}

// y op= updates, rounded once however many updates an element gets.
template <typename Op>
absl::Status Accumulate(const Places& places, const Tensor& updates, Op op, Tensor& y) {
  const bool known = VisitWidened(y.dtype(), [&]<typename T>(TypeTag<T>) {
    const auto in = updates.elements<T>();
    const auto out = y.mutable_elements<T>();
    std::vector<WideType<T>> wide(out.size());
    std::transform(out.begin(), out.end(), wide.begin(), Widen<T>);
    VisitUpdates(places, [&](size_t at, size_t from) { wide[at] = op(wide[at], Widen<T>(in[from])); });
    std::transform(wide.begin(), wide.end(), out.begin(), Narrow<T>);
  });
  return known ? absl::OkStatus() : NoKernelFor(y.dtype());
}

absl::Status Overwrite(const Places& places, const Tensor& updates, Tensor& y) {
  const bool known = VisitStorage(y.dtype(), [&]<typename T>(TypeTag<T>) {
    const auto in = updates.elements<T>();
    const auto out = y.mutable_elements<T>();
    if (places.run == 1) {  // without a call for each element
      for (size_t i = 0; i < places.firsts.size(); ++i) out[places.firsts[i]] = in[i];
      return;
    }
    const T* next = in.data();
    for (const size_t first : places.firsts) {
      std::copy_n(next, places.run, out.data() + first);
      next += places.run;
    }
  });
  return known ? absl::OkStatus() : NoKernelFor(y.dtype());
}

template <typename T>
bool IsNan(T x) {
  if constexpr (std::is_floating_point_v<T>) {
    return std::isnan(x);
  } else {
    return false;
  }
}

// The larger (the smaller) of y and the updates; not a number if one of them is not.
template <typename IsBetter>
absl::Status KeepBest(const Places& places, const Tensor& updates, IsBetter is_better, Tensor& y) {
  const bool known = VisitNumbersAndBool(y.dtype(), [&]<typename T>(TypeTag<T>) {
    const auto in = updates.elements<T>();
    const auto out = y.mutable_elements<T>();
    VisitUpdates(places, [&](size_t at, size_t from) {
      const auto update = Load(in[from]);
      if (IsNan(update) || is_better(update, Load(out[at]))) out[at] = in[from];
    });
  });
  return known ? absl::OkStatus() : NoKernelFor(y.dtype());
}

absl::Status Reduce(const std::string& reduction, const Places& places, const Tensor& updates, Tensor& y) {
  if (reduction == "none") return Overwrite(places, updates, y);
  if (reduction == "add") return Accumulate(places, updates, std::plus<>(), y);
  if (reduction == "mul") return Accumulate(places, updates, std::multiplies<>(), y);
  if (reduction == "max") return KeepBest(places, updates, std::greater<>(), y);
  if (reduction == "min") return KeepBest(places, updates, std::less<>(), y);
  return ModelError("expected reduction none, add, mul, max or min, found ", Escaped(reduction));
}

// Output 0 is input 0 with the updates, which are input 2.
absl::Status GiveScattered(KernelContext& context, const Places& places) {
  AMP_ASSIGN_OR_RETURN(const Dims update_dims, ReadScatterUpdateDims(context));
  const Tensor& x = context.Input(0);
  const Tensor& updates = context.Input(2);
  if (updates.dtype() != x.dtype() || updates.dims() != update_dims) {
    return ModelError("expected updates ", DTypeName(x.dtype()), DimsText(update_dims), ", found ", updates.TypeText());
  }
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, x.dtype(), x.dims()));
  CopyElements(x, 0, *y, 0, static_cast<size_t>(x.num_elements()));
  return Reduce(ReadScatterReduction(context), places, updates, *y);
}

// The places are found once if the indices, input 1, are the model's own.
absl::StatusOr<std::shared_ptr<const Places>> PlacesOf(KernelContext& context) {
  const auto find = [&] { return ReadScatterPlaces(context); };
  if (context.IsConstantInput(1)) return ReadOnce<Places>(context, find, context.Input(0).dims());
  AMP_ASSIGN_OR_RETURN(Places places, find());
  return std::make_shared<const Places>(std::move(places));
}

absl::Status Scatter(KernelContext& context) {
  AMP_ASSIGN_OR_RETURN(const auto places, PlacesOf(context));
  return GiveScattered(context, *places);
}

// Where in the cache each batch's update begins: 0 where nothing is said.
absl::StatusOr<std::vector<int64_t>> WriteIndices(const KernelContext& context, int64_t batch, int64_t longest) {
  if (!context.HasInput(2)) return std::vector<int64_t>(static_cast<size_t>(batch), 0);
  AMP_ASSIGN_OR_RETURN(std::vector<int64_t> indices, context.InputInts(2));
  if (static_cast<int64_t>(indices.size()) != batch) {
    return ModelError("expected ", batch, " write indices, found ", indices.size());
  }
  for (const int64_t index : indices) {
    if (index < 0 || index > longest) return ModelError("expected a write index in [0, ", longest, "], found ", index);
  }
  return indices;
}

// An update of a cache's axis of positions, behind what each batch has there; round and round in mode circular.
absl::Status TensorScatter(KernelContext& context) {
  const Tensor& cache = context.Input(0);
  const Tensor& update = context.Input(1);
  AMP_ASSIGN_OR_RETURN(const size_t axis, NormalizeAxis(GetInt(context.node(), "axis", -2), cache.rank()));
  if (axis == 0) return ModelError("expected an axis that is not the batch, found 0");
  const std::string mode = GetString(context.node(), "mode", "linear");
  if (mode != "linear" && mode != "circular") return ModelError("expected mode linear or circular, found another");
  Dims expected = cache.dims();
  expected[axis] = update.rank() == cache.rank() ? update.dim(axis) : 0;
  if (update.dtype() != cache.dtype() || update.dims() != expected || expected[axis] > cache.dim(axis)) {
    return ModelError("expected an update for ", cache.TypeText(), ", found ", update.TypeText());
  }
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, cache.dtype(), cache.dims()));
  CopyElements(cache, 0, *y, 0, static_cast<size_t>(cache.num_elements()));
  if (update.num_elements() == 0) return absl::OkStatus();
  const int64_t longest = mode == "circular" ? kMaxElements : cache.dim(axis) - update.dim(axis);
  AMP_ASSIGN_OR_RETURN(const std::vector<int64_t> firsts, WriteIndices(context, cache.dim(0), longest));
  const AxisView view(cache.dims(), axis), update_view(update.dims(), axis);
  const size_t outer_per_batch = view.outer / firsts.size();
  for (size_t outer = 0; outer < view.outer; ++outer) {
    const auto first = static_cast<size_t>(firsts[outer / outer_per_batch]);
    for (size_t i = 0; i < update_view.size; ++i) {
      const size_t at = (first + i) % view.size;
      CopyElements(update, (outer * update_view.size + i) * view.inner, *y, (outer * view.size + at) * view.inner,
                   view.inner);
    }
  }
  return absl::OkStatus();
}

constexpr KernelRow kRows[] = {
    {"Scatter", Scatter},
    Refusing({DType::kString}, {0, 2}, {"ScatterElements", Scatter}),
    Refusing({DType::kString}, {0, 2}, {"ScatterND", Scatter}),
    {"TensorScatter", TensorScatter},
};

}  // namespace

absl::Span<const KernelRow> ScatterKernels() { return kRows; }

}  // namespace amp
