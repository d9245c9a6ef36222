// Comparisons, logic, and the choice between two tensors.
#include <algorithm>
#include <cmath>
#include <functional>
#include <string>

#include "runtime/forms/activation.h"
#include "runtime/reference/elementwise.h"
#include "runtime/reference/families.h"

namespace amp {
namespace {

// ---- two operands -------------------------------------------------------------------------------------------------

// y = of(a, b), bool: of numbers, bools and strings.
template <typename Function>
absl::Status Compare(KernelContext& context, Function of) {
  const Tensor& a = context.Input(0);
  const Tensor& b = context.Input(1);
  AMP_RETURN_IF_ERROR(CheckSameType(a, b));
  AMP_ASSIGN_OR_RETURN(const Broadcast broadcast, BroadcastPair(context));
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, DType::kBool, broadcast.dims));
  const auto compare = [&]<typename T>(TypeTag<T>) {
    Zip(broadcast, a.elements<T>(), b.elements<T>(), y->mutable_elements<bool>(), [&of](const T& x, const T& z) {
      if constexpr (kIsFloat<T>) {
        return of(ToDouble(x), ToDouble(z));
      } else {
        return of(x, z);
      }
    });
  };
  const bool is_string = a.dtype() == DType::kString;
  if (is_string) compare(TypeTag<std::string>());
  return is_string || VisitNumbersAndBool(a.dtype(), compare) ? absl::OkStatus() : context.TypeError(a.dtype());
}

template <typename Function>
absl::Status Compared(KernelContext& context) {
  return Compare(context, Function());
}

template <auto kFunction>
absl::Status Logic(KernelContext& context) {
  const DType dtype = context.Input(0).dtype();
  if (dtype != DType::kBool) return context.TypeError(dtype);
  AMP_RETURN_IF_ERROR(CheckSameType(context.Input(0), context.Input(1)));
  AMP_ASSIGN_OR_RETURN(const Broadcast broadcast, BroadcastPair(context));
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, DType::kBool, broadcast.dims));
  Zip(broadcast, context.Input(0).elements<bool>(), context.Input(1).elements<bool>(), y->mutable_elements<bool>(),
      kFunction);
  return absl::OkStatus();
}

// ---- one operand --------------------------------------------------------------------------------------------------

absl::Status Not(KernelContext& context) {
  const Tensor& x = context.Input(0);
  if (x.dtype() != DType::kBool) return context.TypeError(x.dtype());
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, DType::kBool, x.dims()));
  const auto in = x.elements<bool>();
  std::transform(in.begin(), in.end(), y->mutable_elements<bool>().begin(), [](bool element) { return !element; });
  return absl::OkStatus();
}

// y = of(x), bool, of floats of all sizes.
template <typename Function>
absl::Status Test(KernelContext& context, Function of) {
  const Tensor& x = context.Input(0);
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, DType::kBool, x.dims()));
  const auto test = [&]<typename T>(TypeTag<T>) {
    const auto in = x.elements<T>();
    std::transform(in.begin(), in.end(), y->mutable_elements<bool>().begin(),
                   [&of](T element) { return of(ToDouble(element)); });
  };
  const bool known = VisitFloats(x.dtype(), test) || VisitTinyTypes(x.dtype(), test);
  return known ? absl::OkStatus() : context.TypeError(x.dtype());
}

absl::Status IsInf(KernelContext& context) {
  const InfinitiesFound found = ReadInfinities(context.node());
  return Test(context, [=](double x) { return std::isinf(x) && (x < 0 ? found.negative : found.positive); });
}

absl::Status IsNaN(KernelContext& context) {
  return Test(context, [](double x) { return std::isnan(x); });
}

// ---- three operands -----------------------------------------------------------------------------------------------

absl::Status Where(KernelContext& context) {
  const Tensor& condition = context.Input(0);
  const Tensor& x = context.Input(1);
  const Tensor& y = context.Input(2);
  if (condition.dtype() != DType::kBool) {
    return ModelError("expected a condition of type bool, found ", DTypeName(condition.dtype()));
  }
  AMP_RETURN_IF_ERROR(CheckSameType(x, y));
  AMP_ASSIGN_OR_RETURN(const Broadcast broadcast, BroadcastInputs(context, 3));
  AMP_ASSIGN_OR_RETURN(Tensor * output, context.MakeOutput(0, x.dtype(), broadcast.dims));
  const auto conditions = condition.elements<bool>();
  const bool known = VisitStorage(x.dtype(), [&]<typename T>(TypeTag<T>) {
    const auto a = x.elements<T>(), b = y.elements<T>();
    const auto out = output->mutable_elements<T>();
    for (RowWalk row(broadcast); !row.AtEnd(); row.Next()) {
      for (size_t i = 0; i < row.count(); ++i) {
        out[row.first() + i] = conditions[row.At(0, i)] ? a[row.At(1, i)] : b[row.At(2, i)];
      }
    }
  });
  return known ? absl::OkStatus() : context.TypeError(x.dtype());
}

constexpr KernelRow kRows[] = {
    {"And", Logic<[](bool a, bool b) { return a && b; }>},
    {"Equal", Compared<std::equal_to<>>},
    {"Greater", Compared<std::greater<>>},
    {"GreaterOrEqual", Compared<std::greater_equal<>>},
    {"IsInf", IsInf},
    {"IsNaN", IsNaN},
    {"Less", Compared<std::less<>>},
    {"LessOrEqual", Compared<std::less_equal<>>},
    {"Not", Not},
    {"Or", Logic<[](bool a, bool b) { return a || b; }>},
    {"Where", Where},
    {"Xor", Logic<[](bool a, bool b) { return a != b; }>},
};

}  // namespace

absl::Span<const KernelRow> ComparisonKernels() { return kRows; }

}  // namespace amp
