// How operators hand on an axis of samples, along which a result depends on its own sample alone.
//
//   x [1, 3, 8, 8] axis 0   Conv (x, w)      [1, 16, 6, 6] axis 0        a row of the result from a row of x
//   h [7, 1, 64] axis 1     LSTM (h, ...)    [7, 1, 1, 64] axis 2
//   a [1, 12, 64] axis 0    Reshape (a, s)   [12, 64] axis 0, 12 elements for each sample
//   s [1, 8] axis 0         ReduceSum (s)    none: it adds samples up
//
// A node that is followed computes the same numbers for each sample, however many there are. Operators without a rule
// here are never followed. Facts alone: which dimension is freed is for passes/decide/free_dimension.h to say.
#ifndef AMP_IR_OPERATORS_SAMPLE_AXIS_H_
#define AMP_IR_OPERATORS_SAMPLE_AXIS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "ir/base/reason.h"
#include "ir/graph/graph.h"

namespace amp {

struct SampleAxis {
  size_t axis = 0;
  int64_t block = 1;  // elements along the axis that belong to one sample; they lie together

  bool operator==(const SampleAxis&) const = default;
};

// The values that have such an axis; all others are the same whatever the samples are.
struct Samples {
  int64_t count = 1;  // as the model has it now
  absl::flat_hash_map<ValueId, SampleAxis> axes;

  // Null for a value that has none, and for kNone.
  const SampleAxis* Of(ValueId value) const;
};

// The edit of a node's input that makes it right for any number of samples.
struct InputEdit {
  size_t port = 0;
  std::optional<std::vector<int64_t>> elements;  // the new constant; nothing: the input goes
};

struct FollowedNode {
  std::vector<std::optional<SampleAxis>> outputs = {};  // by port
  std::vector<InputEdit> edits = {};
  Reason why = Reason::None();  // it cannot be followed: "adds up along the samples"
};

// REQUIRES: types are inferred; the node reads a value of `samples`. Linear in the ranks and in the constants that say
// shapes.
FollowedNode FollowSamples(const Model& model, NodeId node, const Samples& samples);

}  // namespace amp

#endif  // AMP_IR_OPERATORS_SAMPLE_AXIS_H_
