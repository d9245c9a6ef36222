#include "tools/program/keep_freed_memory.h"

#include <cstdlib>
#include <initializer_list>

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace amp {

void KeepFreedMemory() {
#ifdef __GLIBC__
  for (const char* const name : {"MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "GLIBC_TUNABLES"}) {
    if (std::getenv(name) != nullptr) return;
  }
  constexpr int kKept = 128 << 20, kLargestKeptBlock = 32 << 20;
  ::mallopt(M_TRIM_THRESHOLD, kKept);
  ::mallopt(M_MMAP_THRESHOLD, kLargestKeptBlock);
#endif
}

}  // namespace amp
