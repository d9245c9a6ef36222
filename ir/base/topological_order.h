// The order in which things that wait for each other can come.
#ifndef AMP_IR_BASE_TOPOLOGICAL_ORDER_H_
#define AMP_IR_BASE_TOPOLOGICAL_ORDER_H_

#include <cstddef>
#include <optional>
#include <vector>

#include "absl/types/span.h"

namespace amp {

struct TopologicalOrder {
  std::vector<size_t> order;
  std::optional<size_t> first_in_cycle;  // the first that waits for itself, at last, or for one that does
};

// `readers[i]`: what waits for i, as often as it does. Of those that can come next, the one with the lowest place comes
// first, and the lowest index among equals; without places the lowest index. O(n log n).
TopologicalOrder SortTopologically(absl::Span<const std::vector<size_t>> readers, absl::Span<const int> places = {});

}  // namespace amp

#endif  // AMP_IR_BASE_TOPOLOGICAL_ORDER_H_
