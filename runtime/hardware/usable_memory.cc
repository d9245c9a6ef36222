#include "runtime/hardware/usable_memory.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>

namespace amp {
namespace {

constexpr int64_t kUnlimited = std::numeric_limits<int64_t>::max();

// "MemAvailable:   12345 kB"
int64_t OfMachine() {
  std::ifstream file("/proc/meminfo");
  std::string name, unit;
  int64_t kilobytes = 0;
  while (file >> name >> kilobytes) {
    std::getline(file, unit);
    if (name == "MemAvailable:") return kilobytes * 1024;
  }
  return kUnlimited;
}

int64_t NumberIn(const char* path, int64_t fallback) {
  std::ifstream file(path);
  int64_t number = 0;
  return file >> number ? number : fallback;  // "max" is no number
}

// Files that are cached count as used there, though they would make room.
int64_t OfGroup() {
  const int64_t most = NumberIn("/sys/fs/cgroup/memory.max", kUnlimited);
  if (most == kUnlimited) return kUnlimited;
  return most - NumberIn("/sys/fs/cgroup/memory.current", 0);
}

int64_t OfAddressSpace() {
  rlimit limit = {};
  if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return kUnlimited;
  const int64_t pages = NumberIn("/proc/self/statm", 0);
  return static_cast<int64_t>(limit.rlim_cur) - pages * ::sysconf(_SC_PAGESIZE);
}

}  // namespace

int64_t UsableMemory() { return std::max<int64_t>(std::min({OfMachine(), OfGroup(), OfAddressSpace()}), 0); }

}  // namespace amp
