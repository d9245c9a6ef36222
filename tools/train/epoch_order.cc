#include "tools/train/epoch_order.h"

#include <boost/random/uniform_int_distribution.hpp>
#include <numeric>
#include <random>
#include <utility>

namespace amp {

std::vector<int64_t> EpochOrder(int64_t num_samples, std::optional<uint64_t> seed, int64_t epoch) {
  std::vector<int64_t> order(static_cast<size_t>(num_samples));
  std::iota(order.begin(), order.end(), int64_t{0});
  if (!seed.has_value()) return order;
  const auto e = static_cast<uint64_t>(epoch);
  std::seed_seq sequence{static_cast<uint32_t>(*seed), static_cast<uint32_t>(*seed >> 32), static_cast<uint32_t>(e),
                         static_cast<uint32_t>(e >> 32)};
  std::mt19937_64 random(sequence);
  for (size_t i = order.size(); i > 1; --i) {
    std::swap(order[i - 1], order[boost::random::uniform_int_distribution<size_t>(0, i - 1)(random)]);
  }
  return order;
}

}  // namespace amp
