#include "runtime/loops/best_loops.h"

#include <atomic>

#include "runtime/hardware/hardware.h"

namespace amp {

namespace baseline {
extern const Loops kLoops;
}
#if defined(__x86_64__)
namespace avx2 {
extern const Loops kLoops;
}
namespace avx512 {
extern const Loops kLoops;
}
#endif

namespace {
std::atomic<const Loops*> chosen = nullptr;
}

std::vector<const Loops*> UsableLoops() {
  std::vector<const Loops*> usable = {&baseline::kLoops};
#if defined(__x86_64__)
  const CpuFeatures cpu = DetectCpu();
  if (cpu.avx2) usable.push_back(&avx2::kLoops);
  if (cpu.avx2 && cpu.avx512) usable.push_back(&avx512::kLoops);
#endif
  return usable;
}

const Loops& BestLoops() {
  static const Loops& fastest = *UsableLoops().back();
  const Loops* const other = chosen.load(std::memory_order_relaxed);
  return other == nullptr ? fastest : *other;
}

void UseLoops(const Loops* loops) { chosen = loops; }

}  // namespace amp
