// A tensor's rows along an axis as float32: each in one piece, or those that lie across next to each other.
//
//   MapRows(context, AxisView(x.dims(), axis), [&](const float* in, float* out, size_t size) { ... });
//
// Where elements of a row lie apart, its neighbours' elements lie between them: columns are some neighbours at a time,
// [size, width] of them.
#ifndef AMP_RUNTIME_LOOPS_FLOAT_ROWS_H_
#define AMP_RUNTIME_LOOPS_FLOAT_ROWS_H_

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "runtime/kernel/kernel.h"
#include "runtime/kernel/shape_math.h"

namespace amp {

// How many columns come at a time.
inline constexpr size_t kMaxColumns = 64;
// Rows of fewer elements than this cost more by themselves than what is done to them: they are made columns.
inline constexpr size_t kShortRow = 16;

// Called by several threads at once.
using RowFunction = absl::FunctionRef<void(const float* in, float* out, size_t size)>;
// Works in place.
using ColumnsFunction = absl::FunctionRef<void(float* columns, size_t size, size_t width)>;

// Output 0, like input 0, is what `of` makes of the rows of it; in and out may be the same. REQUIRES: a row-major input
// of float32, float16 or bfloat16. Errors: memory.
absl::Status MapRows(KernelContext& context, const AxisView& view, RowFunction of);
// Maps rows; those whose elements lie apart, and those of a few elements, are given as columns.
absl::Status MapRowsAndColumns(KernelContext& context, const AxisView& view, RowFunction of,
                               ColumnsFunction of_columns);

}  // namespace amp

#endif  // AMP_RUNTIME_LOOPS_FLOAT_ROWS_H_
