#include "runtime/reference/elementwise.h"

#include <algorithm>
#include <array>

#include "runtime/reference/convert_element.h"

namespace amp {
namespace {

constexpr size_t kChunk = 1024;

absl::Status MapDoubles(KernelContext& context, absl::FunctionRef<double(double)> of) {
  const Tensor& x = context.Input(0);
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, x.dtype(), x.dims()));
  const auto count = static_cast<size_t>(x.num_elements());
  std::array<double, kChunk> buffer;
  for (size_t first = 0; first < count; first += kChunk) {
    const absl::Span<double> chunk(buffer.data(), std::min(kChunk, count - first));
    if (!LoadDoubles(x, first, chunk)) return context.TypeError(x.dtype());
    for (double& element : chunk) element = of(element);
    StoreDoubles(chunk, *y, first);
  }
  return absl::OkStatus();
}

}  // namespace

bool LoadDoubles(const Tensor& from, size_t first, absl::Span<double> out) {
  return VisitConvertible(from.dtype(), [&]<typename T>(TypeTag<T>) {
    const auto in = from.elements<T>().subspan(first, out.size());
    std::transform(in.begin(), in.end(), out.begin(), [](T element) { return ToDouble(element); });
  });
}

bool StoreDoubles(absl::Span<const double> from, Tensor& to, size_t first) {
  if (IsLowFloat(to.dtype())) {
    NarrowFloat64(from, to.dtype(), to.mutable_elements<uint16_t>().subspan(first, from.size()));
    return true;
  }
  return VisitConvertible(to.dtype(), [&]<typename T>(TypeTag<T>) {
    const auto out = to.mutable_elements<T>().subspan(first, from.size());
    std::transform(from.begin(), from.end(), out.begin(), [](double x) { return ConvertElement<T>(x); });
  });
}

absl::Status MapFloats(KernelContext& context, absl::FunctionRef<double(double)> of) {
  const DType dtype = context.Input(0).dtype();
  if (!VisitFloats(dtype, [](auto) {})) return context.TypeError(dtype);
  return MapDoubles(context, of);
}

absl::Status MapNumbers(KernelContext& context, absl::FunctionRef<double(double)> of) {
  const DType dtype = context.Input(0).dtype();
  if (!VisitNumbers(dtype, [](auto) {})) return context.TypeError(dtype);
  return MapDoubles(context, of);
}

}  // namespace amp
