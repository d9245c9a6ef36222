// How many elements values have and how often scopes run, as far as that is known without running the model.
//
//   [batch, 512]                      32 * 512: a dimension that is not known counts as 32, the same in every value
//   Reshape [?, ?, ?] -> [?, 24, 64]  32 * 24 * 64 both: they hold the same elements, and the better known shape counts
//   Concat of 300 and 200 elements    500, whatever is known of its result
//   no shape at all                   as the largest value of the model
//   in the body of a Loop or Scan     8 times, per nesting
#ifndef AMP_PASSES_PAINT_TRAFFIC_H_
#define AMP_PASSES_PAINT_TRAFFIC_H_

#include <cstdint>

#include "absl/types/span.h"
#include "ir/graph/graph.h"

namespace amp {

class Traffic {
 public:
  // `order`: the nodes of all scopes, producers first. Linear in nodes and values.
  Traffic(const Model& model, absl::Span<const NodeId> order);

  // 0 of what is not float32.
  int64_t Elements(ValueId value) const { return sizes_[value].elements; }
  // Returns the bytes that a run of the model moves if a node of that scope moves so many elements; at most 2^38.
  int64_t Bytes(int64_t elements, int64_t bytes_per_element, GraphId scope) const;
  // Whether no size had to be guessed.
  bool knows_all_sizes() const { return knows_all_; }

 private:
  struct Size {
    int64_t elements = 0;
    int num_unknown = 0;  // dimensions
  };
  Size SizeOf(ValueId value) const;
  void Agree(const Node& node);
  void AddUp(const Node& node);

  const Model& model_;
  IdVector<ValueId, Size> sizes_;
  IdVector<GraphId, int64_t> trips_;
  bool knows_all_ = true;
};

}  // namespace amp

#endif  // AMP_PASSES_PAINT_TRAFFIC_H_
