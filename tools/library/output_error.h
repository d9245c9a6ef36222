// The error of one output by the metric of a search.
#ifndef AMP_TOOLS_LIBRARY_OUTPUT_ERROR_H_
#define AMP_TOOLS_LIBRARY_OUTPUT_ERROR_H_

#include <optional>

#include "runtime/kernel/tensor.h"
#include "tools/library/rewrite_options.h"

namespace amp {

// The smaller the better, 0 for equal outputs. Infinity where numbers are no longer finite, or the output has another
// shape. Of whole numbers the share that differs. Nothing where there is nothing to compare: no element that is finite,
// or, by kKl and kTop1, no row of two elements or more.
std::optional<double> OutputError(RewriteOptions::Metric metric, const Datum& expected, const Datum& found);

}  // namespace amp

#endif  // AMP_TOOLS_LIBRARY_OUTPUT_ERROR_H_
