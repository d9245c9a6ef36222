#include "tools/train/epoch_order.h"

#include <numeric>
#include <random>
#include <utility>

namespace amp {
namespace {

// Returns a number below `bound`, each with the same probability: what is left of the last, incomplete round of bounds
// is drawn again. No library draws it, as a checkpoint counts on the order that an earlier version has given.
uint64_t DrawBelow(uint64_t bound, std::mt19937_64& random) {
  const uint64_t too_small = (0 - bound) % bound;
  for (;;) {
    const uint64_t drawn = random();
    if (drawn >= too_small) return drawn % bound;
  }
}

}  // namespace

std::vector<int64_t> EpochOrder(int64_t num_samples, std::optional<uint64_t> seed, int64_t epoch) {
  std::vector<int64_t> order(static_cast<size_t>(num_samples));
  std::iota(order.begin(), order.end(), int64_t{0});
  if (!seed.has_value()) return order;
  const auto e = static_cast<uint64_t>(epoch);
  std::seed_seq sequence{static_cast<uint32_t>(*seed), static_cast<uint32_t>(*seed >> 32), static_cast<uint32_t>(e),
                         static_cast<uint32_t>(e >> 32)};
  std::mt19937_64 random(sequence);
  for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[DrawBelow(i, random)]);
  return order;
}

}  // namespace amp
