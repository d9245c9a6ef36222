// Reductions: one number of the elements along some axes.
//
// Floats are reduced in float64 and rounded once, integers in their own type, where sums and products wrap. What is no
// integer (a logarithm) is cut towards zero. Over nothing: what a further element would not change, or what the formula
// makes of the empty sum (the logarithm of 0: minus infinity).
#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "runtime/forms/reduction.h"
#include "runtime/kernel/cells.h"
#include "runtime/kernel/doubles.h"
#include "runtime/kernel/shape_math.h"
#include "runtime/reference/families.h"

namespace amp {
namespace {

// `Function` is given a cell's elements as double, or as integers; truth values as 0 and 1 where it takes them.
template <typename Function>
absl::Status Reduce(KernelContext& context) {
  const Tensor& x = context.Input(0);
  AMP_ASSIGN_OR_RETURN(const ReductionForm form, ReadReduction(context));
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, x.dtype(), form.dims));
  const Cells cells = CellsAlong(x.dims(), form.axes);
  const bool is_bool = x.dtype() == DType::kBool && Function::kTakesBool;
  const bool known = VisitNumbers(is_bool ? DType::kUint8 : x.dtype(), [&]<typename T>(TypeTag<T>) {
    using Number = ComputeType<T>;
    const auto in = x.elements<T>();
    const auto out = y->mutable_elements<T>();
    std::vector<Number> cell(cells.offsets.size());
    for (size_t i = 0; i < cells.starts.size(); ++i) {
      const size_t start = cells.starts[i];
      std::transform(cells.offsets.begin(), cells.offsets.end(), cell.begin(),
                     [&](size_t offset) { return Load(in[start + offset]); });
      const Number result = Function::Of(absl::MakeConstSpan(cell));
      out[i] = Store<T>(is_bool ? static_cast<Number>(result != 0) : result);
    }
  });
  return known ? absl::OkStatus() : context.TypeError(x.dtype());
}

// Sums and products of integers modulo 2^64, cut to their type, are those of the type itself.
template <typename Number>
using Accumulator = std::conditional_t<std::is_same_v<Number, double>, double, uint64_t>;

struct Sum {
  static constexpr bool kTakesBool = false;
  template <typename Number>
  static Number Of(absl::Span<const Number> cell) {
    Accumulator<Number> sum = 0;
    for (const Number x : cell) sum += static_cast<Accumulator<Number>>(x);
    return static_cast<Number>(sum);
  }
};

struct Product {
  static constexpr bool kTakesBool = false;
  template <typename Number>
  static Number Of(absl::Span<const Number> cell) {
    Accumulator<Number> product = 1;
    for (const Number x : cell) product *= static_cast<Accumulator<Number>>(x);
    return static_cast<Number>(product);
  }
};

struct SumOfSquares {
  static constexpr bool kTakesBool = false;
  template <typename Number>
  static Number Of(absl::Span<const Number> cell) {
    Accumulator<Number> sum = 0;
    for (const Number x : cell) sum += static_cast<Accumulator<Number>>(x) * static_cast<Accumulator<Number>>(x);
    return static_cast<Number>(sum);
  }
};

struct SumOfMagnitudes {
  static constexpr bool kTakesBool = false;
  template <typename Number>
  static Number Of(absl::Span<const Number> cell) {
    Accumulator<Number> sum = 0;
    for (const Number x : cell) {
      const auto term = static_cast<Accumulator<Number>>(+x);  // of one byte as int first
      sum += std::signbit(static_cast<double>(x)) ? -term : term;
    }
    return static_cast<Number>(sum);
  }
};

struct Mean {
  static constexpr bool kTakesBool = false;
  template <typename Number>
  static Number Of(absl::Span<const Number> cell) {
    const Number sum = Sum::Of(cell);
    if constexpr (std::is_same_v<Number, double>) {
      return sum / static_cast<double>(cell.size());
    } else {
      using Wide = std::conditional_t<std::is_signed_v<Number>, int64_t, uint64_t>;
      return cell.empty() ? Number{0} : static_cast<Number>(static_cast<Wide>(sum) / static_cast<Wide>(cell.size()));
    }
  }
};

// NaN where there is one.
struct Max {
  static constexpr bool kTakesBool = true;
  template <typename Number>
  static Number Of(absl::Span<const Number> cell) {
    using Limits = std::numeric_limits<Number>;
    Number result = Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
    for (const Number x : cell) {
      if (x != x) return x;
      result = std::max(result, x);
    }
    return result;
  }
};

struct Min {
  static constexpr bool kTakesBool = true;
  template <typename Number>
  static Number Of(absl::Span<const Number> cell) {
    using Limits = std::numeric_limits<Number>;
    Number result = Limits::has_infinity ? Limits::infinity() : Limits::max();
    for (const Number x : cell) {
      if (x != x) return x;
      result = std::min(result, x);
    }
    return result;
  }
};

// A reduction that is computed in float64 for integers too.
template <double (*kOf)(absl::Span<const double>)>
struct Real {
  static constexpr bool kTakesBool = false;
  template <typename Number>
  static Number Of(absl::Span<const Number> cell) {
    if constexpr (std::is_same_v<Number, double>) {
      return kOf(cell);
    } else {
      return StoreDouble<Number>(kOf(std::vector<double>(cell.begin(), cell.end())));
    }
  }
};

double Norm(absl::Span<const double> cell) { return std::sqrt(SumOfSquares::Of(cell)); }

double LogSum(absl::Span<const double> cell) { return std::log(Sum::Of(cell)); }

// Sums the exponentials of differences from the largest element, so that nothing overflows.
double LogSumExp(absl::Span<const double> cell) {
  const double largest = Max::Of(cell);
  if (!std::isfinite(largest)) return largest;
  double sum = 0;
  for (const double x : cell) sum += std::exp(x - largest);
  return largest + std::log(sum);
}

constexpr KernelRow kRows[] = {
    {"ReduceSum", Reduce<Sum>},
    {"ReduceMean", Reduce<Mean>},
    {"ReduceProd", Reduce<Product>},
    {"ReduceMax", Reduce<Max>},
    {"ReduceMin", Reduce<Min>},
    {"ReduceL1", Reduce<SumOfMagnitudes>},
    {"ReduceL2", Reduce<Real<Norm>>},
    {"ReduceSumSquare", Reduce<SumOfSquares>},
    {"ReduceLogSum", Reduce<Real<LogSum>>},
    {"ReduceLogSumExp", Reduce<Real<LogSumExp>>},
};

}  // namespace

absl::Span<const KernelRow> ReductionKernels() { return kRows; }

}  // namespace amp
