// CumSum and CumProd: the sums and products of what comes before each element along an axis, or after it.
#include <algorithm>
#include <functional>
#include <vector>

#include "runtime/forms/cumulative.h"
#include "runtime/kernel/shape_math.h"
#include "runtime/reference/families.h"
#include "runtime/reference/wide_arithmetic.h"

namespace amp {
namespace {

// Accumulates as many rows as there are totals. They lie next to each other, so that element i of all of them is one
// piece of memory.
template <typename T, typename Op>
void Accumulate(const T* in, T* out, size_t size, const CumulativeForm& form, absl::Span<WideType<T>> totals, Op op) {
  for (size_t i = 0; i < size; ++i) {
    const size_t first = (form.reverse ? size - 1 - i : i) * totals.size();
    for (size_t j = 0; j < totals.size(); ++j) {
      const WideType<T> next = op(totals[j], Widen(in[first + j]));
      out[first + j] = Narrow<T>(form.exclusive ? totals[j] : next);
      totals[j] = next;
    }
  }
}

template <typename Op>
absl::Status AccumulateRows(KernelContext& context, int neutral, Op op) {
  const Tensor& x = context.Input(0);
  AMP_ASSIGN_OR_RETURN(const CumulativeForm form, ReadCumulative(context));
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, x.dtype(), x.dims()));
  const AxisView view(x.dims(), form.axis);
  const size_t block = view.size * view.inner, blocks = x.num_elements() == 0 ? 0 : view.outer;
  const bool known = VisitWidened(x.dtype(), [&]<typename T>(TypeTag<T>) {
    const T* in = x.elements<T>().data();
    T* out = y->mutable_elements<T>().data();
    std::vector<WideType<T>> totals(blocks == 0 ? 0 : view.inner);
    for (size_t i = 0; i < blocks; ++i) {
      std::fill(totals.begin(), totals.end(), static_cast<WideType<T>>(neutral));
      Accumulate<T>(in + i * block, out + i * block, view.size, form, absl::MakeSpan(totals), op);
    }
  });
  return known ? absl::OkStatus() : context.TypeError(x.dtype());
}

absl::Status CumSum(KernelContext& context) { return AccumulateRows(context, 0, std::plus<>()); }
absl::Status CumProd(KernelContext& context) { return AccumulateRows(context, 1, std::multiplies<>()); }

constexpr KernelRow kRows[] = {
    {"CumSum", CumSum},
    {"CumProd", CumProd},
};

}  // namespace

absl::Span<const KernelRow> CumulativeKernels() { return kRows; }

}  // namespace amp
