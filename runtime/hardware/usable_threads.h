// Finds how many threads a process may keep busy.
#ifndef AMP_RUNTIME_HARDWARE_USABLE_THREADS_H_
#define AMP_RUNTIME_HARDWARE_USABLE_THREADS_H_

namespace amp {

// Returns the number of processors that the process's affinity allows, or less if its control group has a quota; at
// least 1.
int UsableThreads();

}  // namespace amp

#endif  // AMP_RUNTIME_HARDWARE_USABLE_THREADS_H_
