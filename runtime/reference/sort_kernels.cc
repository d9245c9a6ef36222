// Operators that compare elements with each other: TopK and Unique.
#include <algorithm>
#include <complex>
#include <numeric>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "runtime/forms/select.h"
#include "runtime/kernel/move_elements.h"
#include "runtime/kernel/no_kernel_error.h"
#include "runtime/kernel/shape_math.h"
#include "runtime/reference/element_order.h"
#include "runtime/reference/families.h"

namespace amp {
namespace {

template <bool kLargest, typename Element>
bool IsBetter(const Element& a, const Element& b) {
  return kLargest ? ComesBefore(b, a) : ComesBefore(a, b);
}

constexpr size_t kTogether = 16;  // elements that are looked at together

// Whether one of kTogether elements may be better than `worst`. What is not a number is neither less nor greater.
template <bool kLargest, typename Element>
bool HasCandidate(const Element* elements, const Element& worst) {
  if constexpr (std::is_arithmetic_v<Element>) {
    int candidates = 0;
    for (size_t i = 0; i < kTogether; ++i) candidates += kLargest ? !(elements[i] <= worst) : !(elements[i] >= worst);
    return candidates != 0;
  }
  return true;
}

// Returns the positions of the `count` best elements of a row, the best first. Among equal elements, the first comes
// first. The best ones so far are a heap with the worst of them on top, which most elements of a long row do not beat.
template <bool kLargest, typename Element>
std::vector<size_t> BestOf(absl::Span<const Element> row, size_t count) {
  const auto goes_first = [&](size_t a, size_t b) {
    if (IsBetter<kLargest>(row[a], row[b])) return true;
    return !IsBetter<kLargest>(row[b], row[a]) && a < b;
  };
  constexpr size_t kFewer = 8;
  if (count > row.size() / kFewer) {  // a heap that is so large costs more than to part all
    std::vector<size_t> order(row.size());
    std::iota(order.begin(), order.end(), size_t{0});
    const auto end = order.begin() + static_cast<std::ptrdiff_t>(count);
    std::nth_element(order.begin(), count == row.size() ? order.begin() : end, order.end(), goes_first);
    std::sort(order.begin(), end, goes_first);
    order.resize(count);
    return order;
  }
  std::vector<size_t> best(count);
  if (count == 0) return best;
  std::iota(best.begin(), best.end(), size_t{0});
  std::make_heap(best.begin(), best.end(), goes_first);
  Element worst = row[best.front()];
  for (size_t first = count; first < row.size(); first += kTogether) {
    const size_t end = std::min(first + kTogether, row.size());
    if (end - first == kTogether && !HasCandidate<kLargest>(row.data() + first, worst)) continue;
    for (size_t i = first; i < end; ++i) {
      if (!IsBetter<kLargest>(row[i], worst)) continue;  // an equal one comes later
      std::pop_heap(best.begin(), best.end(), goes_first);
      best.back() = i;
      std::push_heap(best.begin(), best.end(), goes_first);
      worst = row[best.front()];
    }
  }
  std::sort_heap(best.begin(), best.end(), goes_first);
  return best;
}

absl::Status TopK(KernelContext& context) {
  const Tensor& x = context.Input(0);
  AMP_ASSIGN_OR_RETURN(const TopForm form, ReadTop(context));
  Dims dims = x.dims();
  dims[form.axis] = form.k;
  AMP_ASSIGN_OR_RETURN(Tensor values, Tensor::Create(x.dtype(), dims));
  AMP_ASSIGN_OR_RETURN(Tensor indices, Tensor::Create(DType::kInt64, dims));
  const AxisView view(x.dims(), form.axis), top(dims, form.axis);
  const size_t rows = values.num_elements() == 0 ? 0 : view.rows();
  const bool known = VisitNumbers(x.dtype(), [&]<typename T>(TypeTag<T>) {
    const auto in = x.elements<T>();
    // Elements of a type that the processor compares are read where they are, if they lie next to each other.
    using Element = std::conditional_t<std::is_arithmetic_v<T>, T, ComputeType<T>>;
    const bool lies_apart = view.inner != 1 || !std::is_same_v<Element, T>;
    std::vector<Element> copy(rows == 0 || !lies_apart ? 0 : view.size);
    for (size_t r = 0; r < rows; ++r) {
      const size_t first = view.First(r), first_top = top.First(r);
      for (size_t i = 0; i < copy.size(); ++i) copy[i] = static_cast<Element>(Load(in[first + i * view.inner]));
      absl::Span<const Element> row = copy;
      if constexpr (std::is_same_v<Element, T>) {
        if (!lies_apart) row = in.subspan(first, view.size);
      }
      const std::vector<size_t> best = form.is_largest ? BestOf<true>(row, top.size) : BestOf<false>(row, top.size);
      for (size_t i = 0; i < best.size(); ++i) {
        values.mutable_elements<T>()[first_top + i * view.inner] = in[first + best[i] * view.inner];
        indices.mutable_elements<int64_t>()[first_top + i * view.inner] = static_cast<int64_t>(best[i]);
      }
    }
  });
  if (!known) return context.TypeError(x.dtype());
  context.SetOutput(0, std::move(values));
  context.SetOutput(1, std::move(indices));
  return absl::OkStatus();
}

// Slices along an axis that are alike, group by group.
struct Groups {
  std::vector<int64_t> firsts, counts;  // per group: its first slice, how many it has
  std::vector<int64_t> group_of;        // per slice
};

// The part of an element that ComesBefore compares.
template <typename T>
decltype(auto) Comparable(const T& element) {
  if constexpr (kIsSmallFloat<T>) {
    return ToDouble(element);
  } else {
    return (element);  // a reference
  }
}

// -1, 0 or 1 where slice a is less than, equal to or greater than slice b, by the first element that differs.
template <typename T>
int CompareSlices(absl::Span<const T> x, const AxisView& view, size_t a, size_t b) {
  for (size_t outer = 0; outer < view.outer; ++outer) {
    for (size_t i = 0; i < view.inner; ++i) {
      const size_t place = outer * view.size * view.inner + i;
      const T &of_a = x[place + a * view.inner], &of_b = x[place + b * view.inner];
      if (ComesBefore(Comparable(of_a), Comparable(of_b))) return -1;
      if (ComesBefore(Comparable(of_b), Comparable(of_a))) return 1;
    }
  }
  return 0;
}

template <typename T>
Groups GroupSlices(const Tensor& tensor, const AxisView& view) {
  const auto x = tensor.elements<T>();
  std::vector<size_t> order(view.size);
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return CompareSlices(x, view, a, b) < 0; });
  Groups groups;
  groups.group_of.resize(view.size);
  for (size_t i = 0; i < order.size(); ++i) {
    if (i == 0 || CompareSlices(x, view, order[i - 1], order[i]) != 0) {
      groups.firsts.push_back(static_cast<int64_t>(order[i]));
      groups.counts.push_back(0);
    }
    ++groups.counts.back();
    groups.group_of[order[i]] = static_cast<int64_t>(groups.firsts.size()) - 1;
  }
  return groups;
}

// Returns the groups in the order of their first slices.
Groups ByFirst(const Groups& groups) {
  std::vector<size_t> order(groups.firsts.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return groups.firsts[a] < groups.firsts[b]; });
  Groups result;
  std::vector<int64_t> renamed(order.size());
  for (size_t i = 0; i < order.size(); ++i) {
    result.firsts.push_back(groups.firsts[order[i]]);
    result.counts.push_back(groups.counts[order[i]]);
    renamed[order[i]] = static_cast<int64_t>(i);
  }
  for (const int64_t group : groups.group_of) result.group_of.push_back(renamed[static_cast<size_t>(group)]);
  return result;
}

absl::StatusOr<Groups> GroupsOf(const Tensor& x, const AxisView& view) {
  Groups groups;
  const auto group = [&]<typename T>(TypeTag<T>) { groups = GroupSlices<T>(x, view); };
  if (x.dtype() == DType::kString) {
    group(TypeTag<std::string>());
  } else if (x.dtype() == DType::kComplex64) {
    group(TypeTag<std::complex<float>>());
  } else if (x.dtype() == DType::kComplex128) {
    group(TypeTag<std::complex<double>>());
  } else if (!VisitNumbersAndBool(x.dtype(), group)) {
    return NoKernelFor(x.dtype());
  }
  return groups;
}

absl::Status Unique(KernelContext& context) {
  const Tensor& input = context.Input(0);
  const std::optional<int64_t> given = GetInt(context.node(), "axis");
  const Tensor x = given.has_value() ? input : input.Reshaped({input.num_elements()});
  AMP_ASSIGN_OR_RETURN(const size_t axis, NormalizeAxis(given.value_or(0), x.rank()));
  if (x.num_elements() == 0 && x.dim(axis) != 0) return ModelError("expected slices of elements, found ", x.TypeText());
  AMP_ASSIGN_OR_RETURN(Groups groups, GroupsOf(x, AxisView(x.dims(), axis)));
  if (GetInt(context.node(), "sorted", 1) == 0) groups = ByFirst(groups);
  Dims dims = x.dims();
  dims[axis] = static_cast<int64_t>(groups.firsts.size());
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, x.dtype(), std::move(dims)));
  AMP_RETURN_IF_ERROR(CopyAlong(x, axis, groups.firsts, *y));
  context.SetOutput(1, Tensor::OfInts(groups.firsts));
  context.SetOutput(2, Tensor::OfInts(groups.group_of));
  context.SetOutput(3, Tensor::OfInts(groups.counts));
  return absl::OkStatus();
}

constexpr KernelRow kRows[] = {
    {"TopK", TopK},
    {"Unique", Unique},
};

}  // namespace

absl::Span<const KernelRow> SortKernels() { return kRows; }

}  // namespace amp
