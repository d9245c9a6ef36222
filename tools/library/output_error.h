// The error of one output by the metric of a search.
#ifndef AMP_TOOLS_LIBRARY_OUTPUT_ERROR_H_
#define AMP_TOOLS_LIBRARY_OUTPUT_ERROR_H_

#include <optional>

#include "runtime/kernel/tensor.h"
#include "runtime/values/compare_values.h"
#include "tools/library/rewrite_options.h"

namespace amp {

// The smaller the better, 0 for equal outputs. Infinity where numbers are no longer finite, or the output has another
// shape. Of whole numbers the share that differs. Nothing where there is nothing to compare: no element that is finite,
// or, by kKl and kTop1, no row of two elements or more.
std::optional<double> OutputError(RewriteOptions::Metric metric, const Datum& expected, const Datum& found);

// The difference between two outputs as --verify judges it: below float16's smallest number there is none, as that type
// cannot tell it from 0. bfloat16 reaches as far down as float32.
ValueDifference VerifiedDifference(const Datum& expected, const Datum& found);
// Its relative error; infinity for another shape and for elements that are newly not finite. Whole numbers have none.
double VerifiedError(const ValueDifference& difference);

}  // namespace amp

#endif  // AMP_TOOLS_LIBRARY_OUTPUT_ERROR_H_
