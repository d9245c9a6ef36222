// The common part of element-wise kernels: operands that broadcast, and numbers of any type as float64.
//
//   AMP_ASSIGN_OR_RETURN(const Broadcast broadcast, BroadcastPair(context));
//   AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, a.dtype(), broadcast.dims));
//   Zip(broadcast, a.elements<T>(), b.elements<T>(), y->mutable_elements<T>(), [](T x, T y) { ... });
//
// A tensor's type and its C++ type must agree before elements<T>() is asked for; inputs of other types than the first
// one are an error that CheckSameType finds.
#ifndef AMP_RUNTIME_REFERENCE_ELEMENTWISE_H_
#define AMP_RUNTIME_REFERENCE_ELEMENTWISE_H_

#include <cstddef>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/kernel/broadcast.h"
#include "runtime/kernel/kernel.h"

namespace amp {

// out = of(a, b), element by element.
template <typename A, typename B, typename Out, typename Function>
void Zip(const Broadcast& broadcast, absl::Span<const A> a, absl::Span<const B> b, absl::Span<Out> out, Function of) {
  for (RowWalk row(broadcast); !row.AtEnd(); row.Next()) {
    const A* const from_a = a.data() + row.At(0, 0);
    const B* const from_b = b.data() + row.At(1, 0);
    Out* const to = out.data() + row.first();
    const size_t step_a = row.step(0), step_b = row.step(1), count = row.count();
    for (size_t i = 0; i < count; ++i) to[i] = of(from_a[i * step_a], from_b[i * step_b]);
  }
}

// Elements [first, first + out.size()) of a tensor of numbers, bool included, as float64. False for other types.
bool LoadDoubles(const Tensor& from, size_t first, absl::Span<double> out);
// As Cast does: floats are rounded once, those of 8 bits and less saturate, integers are truncated. False for other
// types.
bool StoreDoubles(absl::Span<const double> from, Tensor& to, size_t first);

// Output 0 = of(input 0), of floats as float64 and of integers as they are.
template <typename Function>
absl::Status MapEach(KernelContext& context, Function of) {
  const Tensor& x = context.Input(0);
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, x.dtype(), x.dims()));
  const bool known = VisitNumbers(x.dtype(), [&]<typename T>(TypeTag<T>) {
    const auto in = x.elements<T>();
    const auto out = y->mutable_elements<T>();
    for (size_t i = 0; i < in.size(); ++i) out[i] = Store<T>(of(Load(in[i])));
  });
  return known ? absl::OkStatus() : context.TypeError(x.dtype());
}

// Output 0 = of(input 0), element by element, in float64: of float16, bfloat16, float32 and float64.
absl::Status MapFloats(KernelContext& context, absl::FunctionRef<double(double)> of);
// Maps integers too, whose results are truncated.
absl::Status MapNumbers(KernelContext& context, absl::FunctionRef<double(double)> of);

// A kernel that maps by a function without parameters.
template <auto kFunction>
absl::Status Mapped(KernelContext& context) {
  return MapFloats(context, kFunction);
}

}  // namespace amp

#endif  // AMP_RUNTIME_REFERENCE_ELEMENTWISE_H_
