// A tensor's rows along an axis, each as float32 in one piece.
//
//   MapRows(context, AxisView(x.dims(), axis), [&](const float* in, float* out, size_t size) { ... });
#ifndef AMP_RUNTIME_LOOPS_FLOAT_ROWS_H_
#define AMP_RUNTIME_LOOPS_FLOAT_ROWS_H_

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "runtime/kernel/kernel.h"
#include "runtime/kernel/shape_math.h"

namespace amp {

// Output 0, like input 0, is what `of` makes of the rows of it; in and out may be the same. REQUIRES: a row-major input
// of float32, float16 or bfloat16. Errors: memory.
absl::Status MapRows(KernelContext& context, const AxisView& view,
                     absl::FunctionRef<void(const float* in, float* out, size_t size)> of);

}  // namespace amp

#endif  // AMP_RUNTIME_LOOPS_FLOAT_ROWS_H_
