// Operators that make tensors out of a few numbers: Range, ConstantOfShape, EyeLike.
#include <algorithm>
#include <cmath>
#include <optional>
#include <type_traits>
#include <utility>

#include "runtime/forms/fill_value.h"
#include "runtime/kernel/make_datum.h"
#include "runtime/kernel/move_elements.h"
#include "runtime/reference/families.h"

namespace amp {
namespace {

// How many of start, start + delta, ... come before the limit; more than kMaxElements: one more than these.
int64_t CountBefore(double start, double limit, double delta) {
  const double count = std::ceil((limit - start) / delta);
  if (!(count > 0)) return 0;
  return count > static_cast<double>(kMaxElements) ? kMaxElements + 1 : static_cast<int64_t>(count);
}
template <typename T>
requires std::is_integral_v<T> int64_t CountBefore(T start, T limit, T delta) {
  if (delta > 0 ? start >= limit : start <= limit) return 0;
  // Modulo 2^64 the distances are right even where they do not fit the type.
  const auto wide = [](T x) { return static_cast<uint64_t>(x); };
  const uint64_t distance = delta > 0 ? wide(limit) - wide(start) : wide(start) - wide(limit);
  const uint64_t step = delta > 0 ? wide(delta) : 0 - wide(delta);
  return static_cast<int64_t>(std::min((distance - 1) / step + 1, static_cast<uint64_t>(kMaxElements) + 1));
}

template <typename T>
absl::Status GiveRange(KernelContext& context) {
  const auto scalar = [&](size_t port) { return Load(context.Input(port).elements<T>()[0]); };
  const auto start = scalar(0), limit = scalar(1), delta = scalar(2);
  if constexpr (kIsFloat<T>) {
    if (!std::isfinite(start) || !std::isfinite(limit) || !std::isfinite(delta)) {
      return ModelError("expected finite numbers, found ", start, ", ", limit, " and ", delta);
    }
  }
  if (delta == 0) return ModelError("expected a delta other than 0, found 0");
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, context.Input(0).dtype(), {CountBefore(start, limit, delta)}));
  const auto out = y->mutable_elements<T>();
  for (size_t i = 0; i < out.size(); ++i) {
    if constexpr (kIsFloat<T>) {
      out[i] = FromDouble<T>(start + static_cast<double>(i) * delta);
    } else {
      out[i] = static_cast<T>(static_cast<uint64_t>(start) + i * static_cast<uint64_t>(delta));
    }
  }
  return absl::OkStatus();
}

absl::Status Range(KernelContext& context) {
  const DType dtype = context.Input(0).dtype();
  for (size_t port = 0; port < 3; ++port) {
    const Tensor& input = context.Input(port);
    if (input.dtype() == dtype && input.num_elements() == 1) continue;
    return ModelError("expected three scalars of one type, found ", input.TypeText());
  }
  absl::Status status;
  const bool known = VisitNumbers(dtype, [&]<typename T>(TypeTag<T>) { status = GiveRange<T>(context); });
  return known ? status : context.TypeError(dtype);
}

absl::Status ConstantOfShape(KernelContext& context) {
  AMP_ASSIGN_OR_RETURN(Dims dims, context.InputInts(0));
  AMP_ASSIGN_OR_RETURN(const Tensor value, ReadFillValue(context));
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, value.dtype(), std::move(dims)));
  const bool known = VisitStorage(value.dtype(), [&]<typename T>(TypeTag<T>) {
    const auto out = y->mutable_elements<T>();
    std::fill(out.begin(), out.end(), value.elements<T>()[0]);
  });
  return known ? absl::OkStatus() : context.TypeError(value.dtype());
}

absl::Status EyeLike(KernelContext& context) {
  const Tensor& x = context.Input(0);
  if (x.rank() != 2) return ModelError("expected a matrix, found ", x.TypeText());
  const DType dtype =
      HasAttribute(context.node(), "dtype") ? GetDType(context.node(), "dtype").value_or(DType::kUndefined) : x.dtype();
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, dtype, x.dims()));
  FillWithZero(*y);
  const int64_t height = x.dim(0), width = x.dim(1);
  const int64_t k = std::clamp(GetInt(context.node(), "k", 0), -height, width);
  const bool known = VisitNumbersAndBool(dtype, [&]<typename T>(TypeTag<T>) {
    const auto out = y->mutable_elements<T>();
    for (int64_t row = std::max<int64_t>(0, -k); row < std::min(height, width - k); ++row) {
      out[static_cast<size_t>(row * width + row + k)] = Store<T>(1);
    }
  });
  return known ? absl::OkStatus() : context.TypeError(dtype);
}

constexpr KernelRow kRows[] = {
    {"Range", Range},
    {"ConstantOfShape", ConstantOfShape},
    {"EyeLike", EyeLike},
};

}  // namespace

absl::Span<const KernelRow> GeneratorKernels() { return kRows; }

}  // namespace amp
