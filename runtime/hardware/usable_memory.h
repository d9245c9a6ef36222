// Finds how much memory a process may still take.
#ifndef AMP_RUNTIME_HARDWARE_USABLE_MEMORY_H_
#define AMP_RUNTIME_HARDWARE_USABLE_MEMORY_H_

#include <cstdint>

namespace amp {

// Returns the bytes that the machine has to spare, or less if the process's control group or its own limit of address
// space (ulimit -v) leaves less; at least 0. A quantity that the system does not tell sets no limit.
int64_t UsableMemory();

}  // namespace amp

#endif  // AMP_RUNTIME_HARDWARE_USABLE_MEMORY_H_
