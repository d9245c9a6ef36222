// What kernels share that work element by element: operands that broadcast, and numbers of any type as float64.
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
#include "runtime/kernel/kernel.h"
#include "runtime/kernel/shape_math.h"

namespace amp {

// The shape of a result, and for every operand the strides along its axes, 0 where the operand is repeated.
struct Broadcast {
  Dims dims;
  std::vector<Dims> strides;
};

// Inputs [0, count), NumPy's way.
absl::StatusOr<Broadcast> BroadcastInputs(const KernelContext& context, size_t count);
// Inputs 0 and 1: NumPy's way; before opset 7 only what the attributes `broadcast` and `axis` say, to the first one's
// shape.
absl::StatusOr<Broadcast> BroadcastPair(const KernelContext& context);

// "expected operands of one type, found float32 and int64".
absl::Status CheckSameType(const Tensor& a, const Tensor& b);

// Visits a result row by row, where a row is as long as strides allow: one row in all when nothing is repeated.
class RowWalk {
 public:
  explicit RowWalk(const Broadcast& broadcast);

  bool AtEnd() const { return walk_.AtEnd(); }
  void Next() {
    walk_.Next();
    first_ += count_;
  }
  size_t count() const { return count_; }  // elements of a row
  size_t first() const { return first_; }  // the row's first element in the result
  // Where the operand's element for the i-th one of the row is.
  size_t At(size_t operand, size_t i) const { return walk_[operand] + i * steps_[operand]; }

 private:
  std::vector<size_t> steps_;
  size_t count_, first_ = 0;
  StridedWalk walk_;
};

// out = of(a, b), element by element.
template <typename A, typename B, typename Out, typename Function>
void Zip(const Broadcast& broadcast, absl::Span<const A> a, absl::Span<const B> b, absl::Span<Out> out, Function of) {
  for (RowWalk row(broadcast); !row.AtEnd(); row.Next()) {
    for (size_t i = 0; i < row.count(); ++i) out[row.first() + i] = of(a[row.At(0, i)], b[row.At(1, i)]);
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
// The same of integers too, whose results are truncated.
absl::Status MapNumbers(KernelContext& context, absl::FunctionRef<double(double)> of);

// The same as a kernel, of a function without parameters.
template <auto kFunction>
absl::Status Mapped(KernelContext& context) {
  return MapFloats(context, kFunction);
}

}  // namespace amp

#endif  // AMP_RUNTIME_REFERENCE_ELEMENTWISE_H_
