// Decision trees, in the one form that ONNX's three ways to write them down come to.
//
//   0: x[2] <= 0.5 ? 1 : 2      1: votes 0 to 1      2: votes 1 to 3
//
// Who reads a forest from a node's attributes checks that every index is in range; a walk that comes back to where it
// was ends with an error.
#ifndef AMP_RUNTIME_REFERENCE_FOREST_H_
#define AMP_RUNTIME_REFERENCE_FOREST_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "runtime/kernel/kernel.h"
#include "runtime/reference/post_transform.h"

namespace amp {

// Numbered as TreeEnsemble-5 does.
enum class Comparison : uint8_t { kLessOrEqual, kLess, kGreaterOrEqual, kGreater, kEqual, kNotEqual, kIsMember };

// A node as a walk reads it: small, so that many fit a cache. There are fewer nodes, features and votes than 2^32.
struct TreeNode {
  double threshold = 0;
  uint32_t feature = 0;
  uint32_t if_true = 0, if_false = 0;  // nodes
  Comparison comparison = Comparison::kLessOrEqual;
  bool missing_is_true = false;  // where NaN goes
  bool is_leaf = false;
};

struct Vote {
  size_t target = 0;
  double weight = 0;
};

enum class Aggregation { kAverage, kSum, kMin, kMax };  // numbered as TreeEnsemble-5 does

struct Forest {
  std::vector<TreeNode> nodes;
  std::vector<size_t> roots;
  std::vector<Vote> votes;
  std::vector<size_t> first_votes;           // of each node: its own are up to the next one's; one more than nodes
  std::vector<std::vector<double>> members;  // of the sets that nodes ask for, by node; empty: no node asks for any
  size_t targets = 0, features = 0;  // votes are for targets below; features are those that nodes ask for, and 1 more
};

// TreeEnsemble-5.
absl::StatusOr<Forest> ReadTreeEnsemble(const KernelContext& context);
// The older operators: votes are in attributes that begin with `prefix`, "class" or "target".
absl::StatusOr<Forest> ReadOldTreeEnsemble(const KernelContext& context, absl::string_view prefix, size_t targets);

// Returns the votes of all trees for the samples [first, end), one row of targets after the other; 0 for targets
// without a vote. All samples go down one tree before the next, so that the tree is in a cache. Errors: fewer features
// than the forest asks for; a tree that leads back to itself.
absl::StatusOr<std::vector<double>> Evaluate(const Forest& forest, const Samples& samples, size_t first, size_t end,
                                             Aggregation aggregation);

// An attribute of numbers: a list of floats, or, under its name and "_as_tensor", a tensor.
absl::StatusOr<std::vector<double>> ReadNumbers(const KernelContext& context, absl::string_view name);

}  // namespace amp

#endif  // AMP_RUNTIME_REFERENCE_FOREST_H_
