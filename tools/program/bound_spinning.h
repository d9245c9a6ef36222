// How long threads that wait for others of their team keep a processor busy.
#ifndef AMP_TOOLS_PROGRAM_BOUND_SPINNING_H_
#define AMP_TOOLS_PROGRAM_BOUND_SPINNING_H_

#include "absl/strings/string_view.h"

namespace amp {

// OpenMP's threads then sleep after some 0.4 ms without work, a few times what waking one costs at worst, and at once
// where other processes have as much to do as the machine has processors when the program starts. On their own they
// spin 75 times as long, at the end of every parallel loop, for a thread that cannot run: other processes' work, or
// they themselves, have its processor. Where the environment says how threads wait (OMP_WAIT_POLICY, GOMP_SPINCOUNT),
// that holds. REQUIRES: the only thread; the shared object with the threads has not been opened yet.
void BoundSpinning();

// The number of looks that BoundSpinning sets, as the machine is now.
const char* SpinCount();

// How often a waiting thread looks, by what /proc/loadavg says: "0.52 0.40 0.31 3/245 1234", in which 3 threads, this
// one among them, have something to do.
const char* SpinsFor(absl::string_view load, int processors);

}  // namespace amp

#endif  // AMP_TOOLS_PROGRAM_BOUND_SPINNING_H_
