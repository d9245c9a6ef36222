// Operators that give or take positions: NonZero, OneHot, and the largest or smallest of a row with ArgMax, ArgMin and
// Hardmax. A NaN is both the largest and the smallest element of its row, as in NumPy.
#include <algorithm>
#include <cmath>
#include <complex>
#include <string>
#include <utility>
#include <vector>

#include "runtime/forms/select.h"
#include "runtime/forms/softmax.h"
#include "runtime/kernel/shape_math.h"
#include "runtime/reference/element_order.h"
#include "runtime/reference/families.h"

namespace amp {
namespace {

template <typename T>
bool IsZero(const T& x) {
  if constexpr (std::is_same_v<T, std::string>) {
    return x.empty();
  } else if constexpr (kIsFloat<T> || kIsTinyInt<T>) {
    return ToDouble(x) == 0;
  } else {
    return x == T();
  }
}

absl::Status NonZero(KernelContext& context) {
  const Tensor& x = context.Input(0);
  std::vector<size_t> found;
  const auto find = [&]<typename T>(TypeTag<T>) {
    const auto in = x.elements<T>();
    for (size_t i = 0; i < in.size(); ++i) {
      if (!IsZero(in[i])) found.push_back(i);
    }
  };
  if (x.dtype() == DType::kString) {
    find(TypeTag<std::string>());
  } else if (x.dtype() == DType::kComplex64) {
    find(TypeTag<std::complex<float>>());
  } else if (x.dtype() == DType::kComplex128) {
    find(TypeTag<std::complex<double>>());
  } else if (!VisitNumbersAndBool(x.dtype(), find) && !VisitTinyTypes(x.dtype(), find)) {
    return context.TypeError(x.dtype());
  }
  const auto rank = static_cast<int64_t>(x.rank());
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, DType::kInt64, {rank, static_cast<int64_t>(found.size())}));
  const Dims strides = RowStrides(x.dims());
  auto out = y->mutable_elements<int64_t>().begin();
  for (size_t axis = 0; axis < x.rank(); ++axis) {
    for (const size_t place : found) *out++ = static_cast<int64_t>(place) / strides[axis] % x.dim(axis);
  }
  return absl::OkStatus();
}

// Where each index turns one of `depth` classes on; `depth` where it turns none on.
absl::StatusOr<std::vector<int64_t>> Classes(const KernelContext& context, int64_t depth) {
  const Tensor& indices = context.Input(0);
  const int64_t lowest = context.version() < 11 ? 0 : -depth;  // later versions count from the back as well
  std::vector<int64_t> classes;
  const bool known = VisitNumbers(indices.dtype(), [&]<typename T>(TypeTag<T>) {
    for (const T element : indices.elements<T>()) {
      double index = static_cast<double>(Load(element));  // exact in the range that counts
      if constexpr (kIsFloat<T>) index = std::trunc(index);
      const bool fits = index >= static_cast<double>(lowest) && index < static_cast<double>(depth);
      const int64_t whole = fits ? static_cast<int64_t>(index) : depth;
      classes.push_back(whole < 0 ? whole + depth : whole);
    }
  });
  if (!known) return context.TypeError(indices.dtype());
  return classes;
}

absl::Status OneHot(KernelContext& context) {
  const Tensor& values = context.Input(2);
  if (values.num_elements() != 2) return ModelError("expected values for off and on, found ", values.TypeText());
  AMP_ASSIGN_OR_RETURN(const double asked, context.InputNumber(1));
  if (!(asked >= 0 && asked <= static_cast<double>(kMaxElements))) {
    return ModelError("expected a depth of at least 0 and at most ", kMaxElements, ", found ", asked);
  }
  const auto depth = static_cast<int64_t>(asked);
  AMP_ASSIGN_OR_RETURN(const std::vector<int64_t> classes, Classes(context, depth));
  Dims dims = context.Input(0).dims();
  AMP_ASSIGN_OR_RETURN(const size_t axis, NormalizeAxis(GetInt(context.node(), "axis", -1), dims.size() + 1));
  dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(axis), depth);
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, values.dtype(), dims));
  if (y->num_elements() == 0) return absl::OkStatus();
  const AxisView view(dims, axis);
  const bool known = VisitStorage(values.dtype(), [&]<typename T>(TypeTag<T>) {
    const auto off_on = values.elements<T>();
    const auto out = y->mutable_elements<T>();
    std::fill(out.begin(), out.end(), off_on[0]);
    for (size_t row = 0; row < classes.size(); ++row) {
      if (classes[row] < depth) out[view.First(row) + static_cast<size_t>(classes[row]) * view.inner] = off_on[1];
    }
  });
  return known ? absl::OkStatus() : context.TypeError(values.dtype());
}

enum class Which { kFirstLargest, kLastLargest, kFirstSmallest, kLastSmallest };

// Whether a is strictly more extreme than b.
template <typename T>
bool Beats(T a, T b, Which which) {
  if (which == Which::kFirstLargest || which == Which::kLastLargest) return ComesBefore(b, a);
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && !std::isnan(b);
  }
  return a < b;
}

// Whether the element takes the place of the best one before it.
template <Which kWhich, typename T>
bool Takes(T element, T best) {
  constexpr bool kLast = kWhich == Which::kLastLargest || kWhich == Which::kLastSmallest;
  return kLast ? !Beats(best, element, kWhich) : Beats(element, best, kWhich);
}

// The position of the extreme element of `size` that lie `step` apart. REQUIRES: size > 0.
template <Which kWhich, typename T>
size_t PositionOf(const T* row, size_t size, size_t step) {
  size_t best = 0;
  auto best_element = Load(row[0]);
  for (size_t i = 1; i < size; ++i) {
    const auto element = Load(row[i * step]);
    if (!Takes<kWhich>(element, best_element)) continue;
    best = i;
    best_element = element;
  }
  return best;
}

// The positions of the extreme elements of `inner` rows that lie across each other, all of them at a time.
template <Which kWhich, typename T>
void PositionsAcross(const T* rows, size_t size, absl::Span<int64_t> positions) {
  const size_t inner = positions.size();
  std::fill(positions.begin(), positions.end(), 0);
  std::vector<T> best(rows, rows + inner);
  for (size_t i = 1; i < size; ++i) {
    const T* const row = rows + i * inner;
    for (size_t j = 0; j < inner; ++j) {
      if (!Takes<kWhich>(Load(row[j]), Load(T{best[j]}))) continue;
      best[j] = row[j];
      positions[j] = static_cast<int64_t>(i);
    }
  }
}

template <Which kWhich>
absl::Status GivePositions(KernelContext& context, const ExtremeForm& form) {
  const Tensor& x = context.Input(0);
  const AxisView view(x.dims(), form.axis);
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, DType::kInt64, form.dims));
  const auto out = y->mutable_elements<int64_t>();
  if (view.size == 0 && !out.empty()) return ModelError("expected elements along axis ", form.axis, ", found none");
  const bool known = VisitNumbersAndBool(x.dtype(), [&]<typename T>(TypeTag<T>) {
    const T* const in = x.elements<T>().data();
    for (size_t outer = 0; !out.empty() && outer < view.outer; ++outer) {
      if (view.inner == 1) {
        out[outer] = static_cast<int64_t>(PositionOf<kWhich>(in + outer * view.size, view.size, 1));
        continue;
      }
      PositionsAcross<kWhich>(in + outer * view.size * view.inner, view.size,
                              out.subspan(outer * view.inner, view.inner));
    }
  });
  return known ? absl::OkStatus() : context.TypeError(x.dtype());
}

template <Which kFirst, Which kLast>
absl::Status ArgExtreme(KernelContext& context) {
  AMP_ASSIGN_OR_RETURN(const ExtremeForm form, ReadExtreme(context));
  return form.takes_last ? GivePositions<kLast>(context, form) : GivePositions<kFirst>(context, form);
}
absl::Status ArgMax(KernelContext& context) { return ArgExtreme<Which::kFirstLargest, Which::kLastLargest>(context); }
absl::Status ArgMin(KernelContext& context) { return ArgExtreme<Which::kFirstSmallest, Which::kLastSmallest>(context); }

absl::Status Hardmax(KernelContext& context) {
  const Tensor& x = context.Input(0);
  AMP_ASSIGN_OR_RETURN(const SoftmaxForm form, ReadSoftmax(context));
  const AxisView view = form.View(x.dims());
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, x.dtype(), x.dims()));
  const size_t rows = y->num_elements() == 0 ? 0 : view.rows();
  const bool known = VisitNumbers(x.dtype(), [&]<typename T>(TypeTag<T>) {
    const auto in = x.elements<T>();
    const auto out = y->mutable_elements<T>();
    std::fill(out.begin(), out.end(), T());
    for (size_t row = 0; row < rows; ++row) {
      const size_t first = view.First(row);
      const size_t best = PositionOf<Which::kFirstLargest>(in.data() + first, view.size, view.inner);
      out[first + best * view.inner] = FromDouble<T>(1);
    }
  });
  return known ? absl::OkStatus() : context.TypeError(x.dtype());
}

constexpr KernelRow kRows[] = {
    {"NonZero", NonZero}, {"OneHot", OneHot}, {"ArgMax", ArgMax}, {"ArgMin", ArgMin}, {"Hardmax", Hardmax},
};

}  // namespace

absl::Span<const KernelRow> IndexKernels() { return kRows; }

}  // namespace amp
