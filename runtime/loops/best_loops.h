// The loops for the processor at hand.
#ifndef AMP_RUNTIME_LOOPS_BEST_LOOPS_H_
#define AMP_RUNTIME_LOOPS_BEST_LOOPS_H_

#include <vector>

#include "runtime/loops/raw/loops.h"

namespace amp {

// Returns the sets of loops that the processor can run, the fastest last.
std::vector<const Loops*> UsableLoops();

// The fastest; found out once.
const Loops& BestLoops();
// For tests: makes BestLoops other ones; null: those that it finds itself. Not while anything runs.
void UseLoops(const Loops* loops);

}  // namespace amp

#endif  // AMP_RUNTIME_LOOPS_BEST_LOOPS_H_
