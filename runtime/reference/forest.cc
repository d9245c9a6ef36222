#include "runtime/reference/forest.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "ir/base/status.h"
#include "runtime/kernel/doubles.h"
#include "runtime/reference/tensor_attribute.h"

namespace amp {
namespace {

// Empty where the attribute is absent.
absl::StatusOr<std::vector<double>> ReadTensorNumbers(const KernelContext& context, absl::string_view name) {
  AMP_ASSIGN_OR_RETURN(const std::optional<Tensor> tensor, ReadTensorAttribute(context, name));
  return tensor.has_value() ? ReadDoubles(*tensor) : std::vector<double>();
}

absl::Status CheckLength(absl::string_view name, size_t found, size_t expected) {
  if (found == expected) return absl::OkStatus();
  return ModelError(name, ": expected ", expected, " entries, found ", found);
}

absl::StatusOr<std::vector<int64_t>> ReadInts(const KernelContext& context, absl::string_view name, size_t count) {
  std::vector<int64_t> list = GetInts(context.node(), name).value_or(std::vector<int64_t>());
  AMP_RETURN_IF_ERROR(CheckLength(name, list.size(), count));
  return list;
}

// A list that counts something below `limit`.
absl::StatusOr<std::vector<size_t>> ReadIndices(const KernelContext& context, absl::string_view name, size_t count,
                                                size_t limit) {
  AMP_ASSIGN_OR_RETURN(const std::vector<int64_t> list, ReadInts(context, name, count));
  std::vector<size_t> indices;
  for (const int64_t index : list) {
    if (index < 0 || index >= static_cast<int64_t>(limit)) {
      return ModelError(name, ": expected 0 to ", static_cast<int64_t>(limit) - 1, ", found ", index);
    }
    indices.push_back(static_cast<size_t>(index));
  }
  return indices;
}

// Features and where missing values go, which all versions write alike. What a leaf states as its feature is not read.
absl::Status ReadFeatures(const KernelContext& context, Forest& forest) {
  const size_t count = forest.nodes.size();
  AMP_ASSIGN_OR_RETURN(const std::vector<int64_t> features, ReadInts(context, "nodes_featureids", count));
  const std::vector<int64_t> missing =
      GetInts(context.node(), "nodes_missing_value_tracks_true").value_or(std::vector<int64_t>(count, 0));
  AMP_RETURN_IF_ERROR(CheckLength("nodes_missing_value_tracks_true", missing.size(), count));
  for (size_t i = 0; i < count; ++i) {
    TreeNode& node = forest.nodes[i];
    if (node.is_leaf) continue;
    if (features[i] < 0 || features[i] >= kMaxElements) {
      return ModelError("nodes_featureids: expected a feature, found ", features[i]);
    }
    node.feature = static_cast<uint32_t>(features[i]);
    node.missing_is_true = missing[i] != 0;
    forest.features = std::max(forest.features, size_t{node.feature} + 1);
  }
  return absl::OkStatus();
}

// Members of the sets that nodes ask for, in the order of these nodes; a NaN ends each.
absl::Status ReadMembers(const KernelContext& context, Forest& forest) {
  AMP_ASSIGN_OR_RETURN(const std::vector<double> members, ReadTensorNumbers(context, "membership_values"));
  size_t at = 0;
  for (size_t i = 0; i < forest.nodes.size(); ++i) {
    if (forest.nodes[i].comparison != Comparison::kIsMember) continue;
    forest.members.resize(forest.nodes.size());
    if (at >= members.size()) return ModelError("membership_values: expected a set for every BRANCH_MEMBER");
    while (at < members.size() && !std::isnan(members[at])) forest.members[i].push_back(members[at++]);
    ++at;
  }
  return absl::OkStatus();
}

// Every leaf becomes a node behind the others.
absl::Status ReadLeaves(const KernelContext& context, Forest& forest) {
  AMP_ASSIGN_OR_RETURN(const std::vector<double> weights, ReadTensorNumbers(context, "leaf_weights"));
  AMP_ASSIGN_OR_RETURN(const std::vector<size_t> targets,
                       ReadIndices(context, "leaf_targetids", weights.size(), forest.targets));
  forest.first_votes.assign(forest.nodes.size(), 0);
  for (size_t i = 0; i < weights.size(); ++i) {
    forest.votes.push_back({targets[i], weights[i]});
    TreeNode leaf;
    leaf.is_leaf = true;
    forest.nodes.push_back(leaf);
    forest.first_votes.push_back(i);
  }
  forest.first_votes.push_back(weights.size());
  return absl::OkStatus();
}

// Where branches lead: to a leaf, which is a node behind the `branches` first ones, or to one of these.
absl::StatusOr<std::vector<uint32_t>> ReadBranches(const KernelContext& context, const Forest& forest, size_t branches,
                                                   absl::string_view side) {
  AMP_ASSIGN_OR_RETURN(const std::vector<size_t> to_leaf,
                       ReadIndices(context, absl::StrCat("nodes_", side, "leafs"), branches, 2));
  const std::string name = absl::StrCat("nodes_", side, "nodeids");
  AMP_ASSIGN_OR_RETURN(const std::vector<size_t> targets, ReadIndices(context, name, branches, forest.nodes.size()));
  std::vector<uint32_t> nodes;
  for (size_t i = 0; i < branches; ++i) {
    const size_t limit = to_leaf[i] == 1 ? forest.nodes.size() - branches : branches;
    if (targets[i] >= limit) return ModelError(name, ": expected an index below ", limit, ", found ", targets[i]);
    nodes.push_back(static_cast<uint32_t>(to_leaf[i] == 1 ? targets[i] + branches : targets[i]));
  }
  return nodes;
}

// The key of a node in the older operators: its tree and its number there.
using NodeKey = std::pair<int64_t, int64_t>;
using NodeIndex = absl::flat_hash_map<NodeKey, uint32_t>;

absl::StatusOr<uint32_t> FindNode(const NodeIndex& index, NodeKey key) {
  const auto it = index.find(key);
  if (it == index.end()) return ModelError("expected a node ", key.second, " in tree ", key.first, ", found none");
  return it->second;
}

absl::Status ReadModes(const KernelContext& context, Forest& forest) {
  static constexpr absl::string_view kModes[] = {"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE",
                                                 "BRANCH_GT",  "BRANCH_EQ", "BRANCH_NEQ"};
  const std::vector<std::string> modes = GetStrings(context.node(), "nodes_modes").value_or(std::vector<std::string>());
  AMP_RETURN_IF_ERROR(CheckLength("nodes_modes", modes.size(), forest.nodes.size()));
  for (size_t i = 0; i < modes.size(); ++i) {
    forest.nodes[i].is_leaf = modes[i] == "LEAF";
    if (forest.nodes[i].is_leaf) continue;
    const auto* const it = std::find(std::begin(kModes), std::end(kModes), modes[i]);
    if (it == std::end(kModes)) return ModelError("nodes_modes: expected a comparison, found ", Escaped(modes[i]));
    forest.nodes[i].comparison = static_cast<Comparison>(it - std::begin(kModes));
  }
  return absl::OkStatus();
}

// Finds the children of every node; a node that is nobody's child is a root.
absl::StatusOr<NodeIndex> ReadTopology(const KernelContext& context, Forest& forest) {
  const size_t count = forest.nodes.size();
  AMP_ASSIGN_OR_RETURN(const std::vector<int64_t> trees, ReadInts(context, "nodes_treeids", count));
  AMP_ASSIGN_OR_RETURN(const std::vector<int64_t> ids, ReadInts(context, "nodes_nodeids", count));
  AMP_ASSIGN_OR_RETURN(const std::vector<int64_t> if_true, ReadInts(context, "nodes_truenodeids", count));
  AMP_ASSIGN_OR_RETURN(const std::vector<int64_t> if_false, ReadInts(context, "nodes_falsenodeids", count));
  NodeIndex index;
  index.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    if (index.try_emplace({trees[i], ids[i]}, static_cast<uint32_t>(i)).second) continue;
    return ModelError("expected different nodes, found ", ids[i], " in tree ", trees[i], " twice");
  }
  std::vector<bool> is_child(count, false);
  for (size_t i = 0; i < count; ++i) {
    TreeNode& node = forest.nodes[i];
    if (node.is_leaf) continue;
    AMP_ASSIGN_OR_RETURN(node.if_true, FindNode(index, {trees[i], if_true[i]}));
    AMP_ASSIGN_OR_RETURN(node.if_false, FindNode(index, {trees[i], if_false[i]}));
    is_child[node.if_true] = is_child[node.if_false] = true;
  }
  for (size_t i = 0; i < count; ++i) {
    if (!is_child[i]) forest.roots.push_back(i);
  }
  return index;
}

// Votes are listed in any order; each leaf's are put side by side.
absl::Status ReadVotes(const KernelContext& context, absl::string_view prefix, const NodeIndex& index, Forest& forest) {
  AMP_ASSIGN_OR_RETURN(const std::vector<double> weights, ReadNumbers(context, absl::StrCat(prefix, "_weights")));
  const size_t count = weights.size();
  AMP_ASSIGN_OR_RETURN(const std::vector<size_t> targets,
                       ReadIndices(context, absl::StrCat(prefix, "_ids"), count, forest.targets));
  AMP_ASSIGN_OR_RETURN(const std::vector<int64_t> trees, ReadInts(context, absl::StrCat(prefix, "_treeids"), count));
  AMP_ASSIGN_OR_RETURN(const std::vector<int64_t> ids, ReadInts(context, absl::StrCat(prefix, "_nodeids"), count));
  std::vector<std::vector<Vote>> votes(forest.nodes.size());
  for (size_t i = 0; i < count; ++i) {
    AMP_ASSIGN_OR_RETURN(const size_t node, FindNode(index, {trees[i], ids[i]}));
    votes[node].push_back({targets[i], weights[i]});
  }
  for (const std::vector<Vote>& of_node : votes) {
    forest.first_votes.push_back(forest.votes.size());
    forest.votes.insert(forest.votes.end(), of_node.begin(), of_node.end());
  }
  forest.first_votes.push_back(forest.votes.size());
  return absl::OkStatus();
}

bool IsMember(const std::vector<double>& members, double x) {
  return std::find(members.begin(), members.end(), x) != members.end();
}

bool GoesToTrue(const Forest& forest, size_t at, double x) {
  const TreeNode& node = forest.nodes[at];
  if (std::isnan(x)) return node.missing_is_true;
  switch (node.comparison) {
    case Comparison::kLessOrEqual:
      return x <= node.threshold;
    case Comparison::kLess:
      return x < node.threshold;
    case Comparison::kGreaterOrEqual:
      return x >= node.threshold;
    case Comparison::kGreater:
      return x > node.threshold;
    case Comparison::kEqual:
      return x == node.threshold;
    case Comparison::kNotEqual:
      return x != node.threshold;
    case Comparison::kIsMember:
      return IsMember(forest.members[at], x);
  }
  return false;
}

absl::StatusOr<size_t> FindLeaf(const Forest& forest, size_t root, absl::Span<const double> sample) {
  size_t at = root;
  for (size_t steps = 0; steps < forest.nodes.size(); ++steps) {
    const TreeNode& node = forest.nodes[at];
    if (node.is_leaf) return at;
    at = GoesToTrue(forest, at, sample[node.feature]) ? node.if_true : node.if_false;
  }
  return ModelError("expected trees, found one that leads back to itself");
}

double Aggregate(Aggregation aggregation, double so_far, double weight) {
  switch (aggregation) {
    case Aggregation::kAverage:
    case Aggregation::kSum:
      return so_far + weight;
    case Aggregation::kMin:
      return std::min(so_far, weight);
    case Aggregation::kMax:
      return std::max(so_far, weight);
  }
  return so_far;
}

}  // namespace

absl::StatusOr<std::vector<double>> ReadNumbers(const KernelContext& context, absl::string_view name) {
  if (const std::optional<std::vector<float>> floats = GetFloats(context.node(), name)) {
    return std::vector<double>(floats->begin(), floats->end());
  }
  return ReadTensorNumbers(context, absl::StrCat(name, "_as_tensor"));
}

absl::StatusOr<Forest> ReadTreeEnsemble(const KernelContext& context) {
  Forest forest;
  const int64_t targets = GetInt(context.node(), "n_targets", 1);
  if (targets < 1 || targets > kMaxElements) return ModelError("n_targets: expected at least 1, found ", targets);
  forest.targets = static_cast<size_t>(targets);
  AMP_ASSIGN_OR_RETURN(const std::vector<double> modes, ReadTensorNumbers(context, "nodes_modes"));
  AMP_ASSIGN_OR_RETURN(const std::vector<double> splits, ReadTensorNumbers(context, "nodes_splits"));
  const size_t branches = modes.size();
  AMP_RETURN_IF_ERROR(CheckLength("nodes_splits", splits.size(), branches));
  forest.nodes.resize(branches);
  for (size_t i = 0; i < branches; ++i) {
    if (!(modes[i] >= 0 && modes[i] <= 6)) return ModelError("nodes_modes: expected 0 to 6, found ", modes[i]);
    forest.nodes[i].comparison = static_cast<Comparison>(modes[i]);
    forest.nodes[i].threshold = splits[i];
  }
  AMP_RETURN_IF_ERROR(ReadFeatures(context, forest));
  AMP_RETURN_IF_ERROR(ReadMembers(context, forest));
  AMP_RETURN_IF_ERROR(ReadLeaves(context, forest));
  AMP_ASSIGN_OR_RETURN(const std::vector<uint32_t> if_true, ReadBranches(context, forest, branches, "true"));
  AMP_ASSIGN_OR_RETURN(const std::vector<uint32_t> if_false, ReadBranches(context, forest, branches, "false"));
  for (size_t i = 0; i < branches; ++i) {
    forest.nodes[i].if_true = if_true[i];
    forest.nodes[i].if_false = if_false[i];
  }
  const size_t trees = GetInts(context.node(), "tree_roots").value_or(std::vector<int64_t>()).size();
  AMP_ASSIGN_OR_RETURN(forest.roots, ReadIndices(context, "tree_roots", trees, branches));
  return forest;
}

absl::StatusOr<Forest> ReadOldTreeEnsemble(const KernelContext& context, absl::string_view prefix, size_t targets) {
  Forest forest;
  forest.targets = targets;
  AMP_ASSIGN_OR_RETURN(const std::vector<double> thresholds, ReadNumbers(context, "nodes_values"));
  forest.nodes.resize(thresholds.size());
  for (size_t i = 0; i < thresholds.size(); ++i) forest.nodes[i].threshold = thresholds[i];
  AMP_RETURN_IF_ERROR(ReadModes(context, forest));
  AMP_RETURN_IF_ERROR(ReadFeatures(context, forest));
  AMP_ASSIGN_OR_RETURN(const NodeIndex index, ReadTopology(context, forest));
  AMP_RETURN_IF_ERROR(ReadVotes(context, prefix, index, forest));
  return forest;
}

absl::StatusOr<std::vector<double>> Evaluate(const Forest& forest, const Samples& samples, size_t first, size_t end,
                                             Aggregation aggregation) {
  if (samples.features < forest.features) {
    return ModelError("expected at least ", forest.features, " features, found ", samples.features);
  }
  std::vector<std::optional<double>> scores((end - first) * forest.targets);
  for (const size_t root : forest.roots) {
    for (size_t sample = first; sample < end; ++sample) {
      AMP_ASSIGN_OR_RETURN(const size_t leaf, FindLeaf(forest, root, samples.row(sample)));
      std::optional<double>* const row = scores.data() + (sample - first) * forest.targets;
      for (size_t i = forest.first_votes[leaf]; i < forest.first_votes[leaf + 1]; ++i) {
        const auto [target, weight] = forest.votes[i];
        row[target] = row[target].has_value() ? Aggregate(aggregation, *row[target], weight) : weight;
      }
    }
  }
  const double divisor = aggregation == Aggregation::kAverage ? static_cast<double>(forest.roots.size()) : 1;
  std::vector<double> result;
  result.reserve(scores.size());
  for (const std::optional<double>& score : scores) result.push_back(score.value_or(0) / divisor);
  return result;
}

}  // namespace amp
