// How long threads that wait for others of their team keep a processor busy.
#ifndef AMP_TOOLS_BOUND_SPINNING_H_
#define AMP_TOOLS_BOUND_SPINNING_H_

namespace amp {

// OpenMP's threads then sleep after some 0.4 ms without work, a few times what waking one costs at worst. On their own
// they spin 75 times as long, at the end of every parallel loop, for a thread that cannot run: other processes' work, or
// they themselves, have its processor. Where the environment says how threads wait (OMP_WAIT_POLICY, GOMP_SPINCOUNT), that
// holds. REQUIRES: the only thread; the shared object with the threads has not been opened yet.
void BoundSpinning();

}  // namespace amp

#endif  // AMP_TOOLS_BOUND_SPINNING_H_
