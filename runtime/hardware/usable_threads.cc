#include "runtime/hardware/usable_threads.h"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <fstream>

namespace amp {
namespace {

int OfAffinity() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return ::sched_getaffinity(0, sizeof set, &set) == 0 ? std::max(1, CPU_COUNT(&set)) : 1;
}

// Returns the quota of the control group: "200000 100000" means two processors, "max 100000" means all.
int OfGroup(int fallback) {
  std::ifstream file("/sys/fs/cgroup/cpu.max");
  double quota = 0, period = 0;
  if (!(file >> quota >> period) || quota <= 0 || period <= 0) return fallback;
  return std::max(1, static_cast<int>(std::ceil(quota / period)));
}

}  // namespace

int UsableThreads() {
  const int of_affinity = OfAffinity();
  return std::min(of_affinity, OfGroup(of_affinity));
}

}  // namespace amp
