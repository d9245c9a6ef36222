// Sequences that grow and shrink in a loop, each step at the cost of the elements that it adds or drops.
//
//   x = SequenceInsert (x, element)       20,000 times: the list is moved from one value to the next, not copied
//
// Whoever runs a node keeps every sequence that is needed after it, so that one which nobody else has may be taken
// apart.
#ifndef AMP_RUNTIME_KERNEL_TAKE_ELEMENTS_H_
#define AMP_RUNTIME_KERNEL_TAKE_ELEMENTS_H_

#include <memory>
#include <vector>

#include "runtime/kernel/tensor.h"

namespace amp {

// The sequence of a Datum.
std::shared_ptr<const Sequence> MakeSharedSequence(Sequence sequence);
// The elements of a sequence: moved where one Datum alone has it, and copied elsewhere. REQUIRES: it is a Datum's.
std::vector<Datum> TakeElements(const Sequence& sequence);

}  // namespace amp

#endif  // AMP_RUNTIME_KERNEL_TAKE_ELEMENTS_H_
