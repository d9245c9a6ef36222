#include "ir/base/topological_order.h"

#include "tests/catch2.h"

namespace amp {
namespace {

using Order = std::vector<size_t>;

TEST_CASE("what is in order already stays, and ties keep it") {
  CHECK(SortTopologically({}).order.empty());
  CHECK(SortTopologically(std::vector<Order>{{1}, {2}, {}}).order == Order{0, 1, 2});
  CHECK(SortTopologically(std::vector<Order>{{}, {}, {}}).order == Order{0, 1, 2});
}

TEST_CASE("readers come behind what they read, however often they do") {
  const std::vector<Order> readers = {{}, {0, 0}, {1}};
  const TopologicalOrder sorted = SortTopologically(readers);
  CHECK(sorted.order == Order{2, 1, 0});
  CHECK_FALSE(sorted.first_in_cycle);
}

TEST_CASE("of those that can come next, the lowest place comes first") {
  const std::vector<Order> readers = {{}, {}, {0}};
  CHECK(SortTopologically(readers, {5, 1, 0}).order == Order{2, 1, 0});
  CHECK(SortTopologically(readers, {0, 0, 0}).order == Order{1, 2, 0});
}

TEST_CASE("a cycle is named by its first, and what hangs on it is left out") {
  const TopologicalOrder sorted = SortTopologically(std::vector<Order>{{}, {2}, {1, 3}, {}});
  CHECK(sorted.order == Order{0});
  CHECK(sorted.first_in_cycle == 1u);
  CHECK(SortTopologically(std::vector<Order>{{0}}).first_in_cycle == 0u);
}

}  // namespace
}  // namespace amp
