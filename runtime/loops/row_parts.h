// The rows of operands that broadcast, in parts that the threads of the run share out.
#ifndef AMP_RUNTIME_LOOPS_ROW_PARTS_H_
#define AMP_RUNTIME_LOOPS_ROW_PARTS_H_

#include <cstddef>

#include "runtime/kernel/broadcast.h"
#include "runtime/kernel/parallel_for.h"
#include "runtime/loops/float_parts.h"

namespace amp {

// Calls visit(row, first, count) for elements [first, first + count) of every row, at most kPartSize at a time, from
// several threads at once. `num_elements`: of the result, at least one.
template <typename Visit>
void ForEachRowPart(const Broadcast& broadcast, size_t num_elements, const Visit& visit) {
  const RowWalk begin(broadcast);
  if (begin.count() == num_elements) {
    return ForEachPartTogether(num_elements, [&](size_t first, size_t count) { visit(begin, first, count); });
  }
  ParallelFor(num_elements / begin.count(), begin.count(), [&](const Share& share) {
    RowWalk row = begin;
    row.Skip(share.first);
    for (size_t i = share.first; i < share.end; ++i, row.Next()) {
      ForEachPart(row.count(), [&](size_t first, size_t count) { visit(row, first, count); });
    }
  });
}

}  // namespace amp

#endif  // AMP_RUNTIME_LOOPS_ROW_PARTS_H_
