#include "runtime/kernel/host_memory.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <fstream>

namespace amp {
namespace {

constexpr size_t kAlignment = 64;
constexpr const char* kGroupLimits[] = {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"};

std::atomic<size_t> allocated_bytes = 0;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)

size_t FindLimit() {
  const long pages = ::sysconf(_SC_PHYS_PAGES), page_bytes = ::sysconf(_SC_PAGESIZE);
  size_t limit = pages > 0 && page_bytes > 0 ? static_cast<size_t>(pages) * static_cast<size_t>(page_bytes) : SIZE_MAX;
  for (const char* file : kGroupLimits) {
    size_t of_group = 0;
    if (std::ifstream(file) >> of_group) limit = std::min(limit, of_group);  // "max" is no number
  }
  return limit / 10 * 9;
}

}  // namespace

size_t HostMemoryLimit() {
  static const size_t limit = FindLimit();
  return limit;
}

std::shared_ptr<void> AllocateHostMemory(size_t size_bytes) {
  if (size_bytes > HostMemoryLimit()) return nullptr;
  const size_t rounded = (size_bytes + kAlignment - 1) / kAlignment * kAlignment;
  void* memory = nullptr;
  if (allocated_bytes.fetch_add(rounded) + rounded <= HostMemoryLimit()) {
    memory = std::aligned_alloc(kAlignment, rounded);
  }
  if (memory == nullptr) {
    allocated_bytes -= rounded;
    return nullptr;
  }
  return {memory, [rounded](void* freed) {
            std::free(freed);
            allocated_bytes -= rounded;
          }};
}

}  // namespace amp
