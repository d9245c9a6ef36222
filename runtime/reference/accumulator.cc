#include "runtime/reference/accumulator.h"

#include <algorithm>

#include "ir/base/status.h"
#include "runtime/reference/elementwise.h"

namespace amp {
namespace {

absl::Status NotCovered(const Tensor& x) { return ModelError("expected numbers, found ", x.TypeText()); }

}  // namespace

absl::StatusOr<Tensor> ToFloat64(const Tensor& x) {
  if (x.dtype() == DType::kFloat64) return x;
  AMP_ASSIGN_OR_RETURN(Tensor wide, Tensor::Create(DType::kFloat64, x.dims()));
  if (!LoadDoubles(x, 0, wide.mutable_elements<double>())) return NotCovered(x);
  return wide;
}

absl::StatusOr<Tensor> ToAccumulator(const Tensor& x) {
  if (VisitFloats(x.dtype(), []<typename T>(TypeTag<T>) {})) return ToFloat64(x);
  if (x.dtype() == DType::kUint64) return x;
  AMP_ASSIGN_OR_RETURN(Tensor wide, Tensor::Create(DType::kUint64, x.dims()));
  const bool known = VisitIntegers(x.dtype(), [&]<typename T>(TypeTag<T>) {
    const auto in = x.elements<T>();
    std::transform(in.begin(), in.end(), wide.mutable_elements<uint64_t>().begin(),
                   [](T element) { return static_cast<uint64_t>(element); });
  });
  if (!known) return NotCovered(x);
  return wide;
}

absl::StatusOr<Tensor> FromAccumulator(const Tensor& sum, DType dtype) {
  if (sum.dtype() == dtype) return sum;
  AMP_ASSIGN_OR_RETURN(Tensor y, Tensor::Create(dtype, sum.dims()));
  bool known = false;
  if (sum.dtype() == DType::kUint64) {
    known = VisitIntegers(dtype, [&]<typename T>(TypeTag<T>) {
      const auto in = sum.elements<uint64_t>();
      std::transform(in.begin(), in.end(), y.mutable_elements<T>().begin(),
                     [](uint64_t element) { return static_cast<T>(element); });
    });
  } else if (!VisitIntegers(dtype, []<typename T>(TypeTag<T>) {})) {
    known = StoreDoubles(sum.elements<double>(), y, 0);
  }
  if (!known) return ModelError("expected a type of floats or integers as of the operands, found ", DTypeName(dtype));
  return y;
}

absl::StatusOr<Tensor> FilledFloat64(Dims dims, double value) {
  AMP_ASSIGN_OR_RETURN(Tensor result, Tensor::Create(DType::kFloat64, std::move(dims)));
  const auto elements = result.mutable_elements<double>();
  std::fill(elements.begin(), elements.end(), value);
  return result;
}

}  // namespace amp
