#include "ir/base/topological_order.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>

namespace amp {

TopologicalOrder SortTopologically(absl::Span<const std::vector<size_t>> readers, absl::Span<const int> places) {
  std::vector<size_t> waiting(readers.size(), 0);  // for how many of those not yet placed
  for (const std::vector<size_t>& list : readers) {
    for (const size_t reader : list) ++waiting[reader];
  }
  using Place = std::pair<int, size_t>;
  std::priority_queue<Place, std::vector<Place>, std::greater<>> ready;
  const auto push = [&](size_t i) { ready.push({places.empty() ? 0 : places[i], i}); };
  for (size_t i = 0; i < readers.size(); ++i) {
    if (waiting[i] == 0) push(i);
  }
  TopologicalOrder sorted;
  while (!ready.empty()) {
    const size_t next = ready.top().second;
    ready.pop();
    sorted.order.push_back(next);
    for (const size_t reader : readers[next]) {
      if (--waiting[reader] == 0) push(reader);
    }
  }
  const auto left = std::find_if(waiting.begin(), waiting.end(), [](size_t count) { return count > 0; });
  if (left != waiting.end()) sorted.first_in_cycle = static_cast<size_t>(left - waiting.begin());
  return sorted;
}

}  // namespace amp
