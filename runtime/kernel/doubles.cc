#include "runtime/kernel/doubles.h"

#include <algorithm>

#include "ir/base/status.h"
#include "runtime/kernel/no_kernel_error.h"

namespace amp {

absl::StatusOr<std::vector<double>> ReadDoubles(const Tensor& tensor) {
  std::vector<double> values(static_cast<size_t>(tensor.num_elements()));
  const bool known = VisitNumbers(tensor.dtype(), [&]<typename T>(TypeTag<T>) {
    const auto elements = tensor.elements<T>();
    std::transform(elements.begin(), elements.end(), values.begin(), [](T element) { return ToDouble(element); });
  });
  if (!known) return NoKernelFor(tensor.dtype());
  return values;
}

absl::Status WriteDoubles(absl::Span<const double> values, Tensor& tensor) {
  AMP_CHECK(static_cast<int64_t>(values.size()) == tensor.num_elements());
  const bool known = VisitNumbers(tensor.dtype(), [&]<typename T>(TypeTag<T>) {
    std::transform(values.begin(), values.end(), tensor.mutable_elements<T>().begin(), StoreDouble<T>);
  });
  return known ? absl::OkStatus() : NoKernelFor(tensor.dtype());
}

}  // namespace amp
