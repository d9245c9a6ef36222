// Guard "observed": values that left the low type's range, or lost their digits there, when the model ran on data of
// the user's stay float32, with whoever reads them.
//
//   Conv -> h, up to 1.2e6 on the data       Conv and the readers of h stay float32 in float16, not in bfloat16
//   Mul  -> p, around 3e-9                   float16 would lose more than max_error of p: likewise
//   Conv -> h, up to 4e4                     within a factor of 2 of 65504: likewise, for other data are larger
#ifndef AMP_PASSES_GUARD_GUARD_OBSERVED_H_
#define AMP_PASSES_GUARD_GUARD_OBSERVED_H_

#include "ir/base/observed_values.h"
#include "passes/guard/guarded_graph.h"

namespace amp {

// `max_error`: relative L2 rounding error of a value. Values that were not observed are let through.
void GuardObserved(const GuardedGraph& graph, const ObservedValues& observed, double max_error, VetoList& vetoes);

}  // namespace amp

#endif  // AMP_PASSES_GUARD_GUARD_OBSERVED_H_
