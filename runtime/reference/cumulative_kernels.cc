// CumSum and CumProd: the sums and products of what comes before each element along an axis, or after it.
#include <functional>

#include "runtime/kernel/shape_math.h"
#include "runtime/reference/families.h"
#include "runtime/reference/wide_arithmetic.h"

namespace amp {
namespace {

struct Direction {
  bool reverse = false;    // from the last element to the first
  bool exclusive = false;  // without the element itself
};

// One row of elements that lie `step` apart.
template <typename T, typename Op>
void Accumulate(const T* in, T* out, const AxisView& view, Direction direction, int neutral, Op op) {
  WideType<T> total(static_cast<WideType<T>>(neutral));
  for (size_t i = 0; i < view.size; ++i) {
    const size_t at = (direction.reverse ? view.size - 1 - i : i) * view.inner;
    const WideType<T> next = op(total, Widen(in[at]));
    out[at] = Narrow<T>(direction.exclusive ? total : next);
    total = next;
  }
}

template <typename Op>
absl::Status AccumulateRows(KernelContext& context, int neutral, Op op) {
  const Tensor& x = context.Input(0);
  AMP_ASSIGN_OR_RETURN(const int64_t given, context.InputInt(1));
  AMP_ASSIGN_OR_RETURN(const size_t axis, NormalizeAxis(given, x.rank()));
  const Direction direction = {.reverse = GetInt(context.node(), "reverse", 0) != 0,
                               .exclusive = GetInt(context.node(), "exclusive", 0) != 0};
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, x.dtype(), x.dims()));
  const AxisView view(x.dims(), axis);
  const size_t rows = x.num_elements() == 0 ? 0 : view.rows();
  const bool known = VisitWidened(x.dtype(), [&]<typename T>(TypeTag<T>) {
    const T* in = x.elements<T>().data();
    T* out = y->mutable_elements<T>().data();
    for (size_t row = 0; row < rows; ++row) {
      Accumulate(in + view.First(row), out + view.First(row), view, direction, neutral, op);
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
