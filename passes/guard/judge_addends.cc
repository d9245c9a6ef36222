#include "passes/guard/judge_addends.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "ir/base/status.h"
#include "ir/operators/addends.h"
#include "ir/operators/operator_facts.h"
#include "ir/operators/operator_roles.h"
#include "passes/guard/guarded_graph.h"

namespace amp {
namespace {

// Results of these are as large as their constants say, for inputs of ordinary size.
constexpr Roles kScaledByConstants = Role::kHeavy | Role::kProducts | Role::kConvolution | Role::kNormalises;

// The node whose result the value is, moved perhaps.
NodeId Source(const Model& model, ValueId value) {
  constexpr int kFarthest = 8;
  NodeId id = model.value(value).producer;
  for (int step = 0; step < kFarthest && id != kNone; ++step) {
    const Node& node = model.node(id);
    if (!RolesOf(model, id).Has(Role::kMoves) && !IsCast(node)) break;
    id = model.value(node.Input(0)).producer;
  }
  return id;
}

}  // namespace

absl::StatusOr<bool> AddendJudge::IsHarmless(NodeId node, size_t port, const NarrowingStats& stats, double limit) {
  if (stats.count == 0 || stats.overflow > 0 || !IsAddend(model_, node, port)) return false;
  const double factor = FactorOfAddends(model_.node(node));
  AMP_ASSIGN_OR_RETURN(const double beside, ScaleBeside(node, port));
  const double error = factor * std::sqrt(stats.squared_error / static_cast<double>(stats.count));
  const bool is_small = error <= limit * std::max(factor * stats.largest, beside);
  return is_small && !IsSmallSumFatal(node);
}

absl::StatusOr<double> AddendJudge::ScaleOfConstants(NodeId id) {
  double scale = 0;
  const Node& node = model_.node(id);
  for (size_t port = 0; port < node.inputs.size(); ++port) {
    const ValueId value = node.inputs[port];
    if (value == kNone || model_.value(value).dtype != DType::kFloat32 || !model_.IsConstant(value)) continue;
    AMP_ASSIGN_OR_RETURN(const ConstantFacts* facts, survey_.Facts(value));
    const double factor = IsAddend(model_, id, port) ? FactorOfAddends(node) : FactorOfProducts(node);
    scale = std::max(scale, factor * facts->stats.largest);
  }
  return scale;
}

absl::StatusOr<double> AddendJudge::ScaleBeside(NodeId id, size_t port) {
  const Node& node = model_.node(id);
  if (RolesOf(model_, id).HasAny(kScaledByConstants)) return ScaleOfConstants(id);
  double scale = 0;
  for (size_t other = 0; other < node.inputs.size(); ++other) {
    const NodeId source = other == port ? NodeId(kNone) : Source(model_, node.inputs[other]);
    if (source == kNone || !RolesOf(model_, source).HasAny(kScaledByConstants)) continue;
    AMP_ASSIGN_OR_RETURN(const double of_source, ScaleOfConstants(source));
    scale = std::max(scale, of_source);
  }
  return scale;
}

// Whether the result reaches, as what it is or as something that is as small, what has no answer for zero. Behind an
// allowed operator values are 16-bit for a good reason; what enters a body, or is given by one, may go anywhere.
bool AddendJudge::IsSmallSumFatal(NodeId node) const {
  std::vector<ValueId> stack;
  absl::flat_hash_set<ValueId> seen;
  const auto push_results = [&](NodeId id) {
    for (const ValueId out : model_.node(id).PresentOutputs()) {
      if (seen.insert(out).second) stack.push_back(out);
    }
  };
  push_results(node);
  SearchBudget budget;
  while (!stack.empty()) {
    const std::vector<Use>& uses = model_.value(stack.back()).uses;
    stack.pop_back();
    if (!budget.Spend(uses.size())) return true;
    for (const Use& use : uses) {
      if (use.IsGraphOutput() && !use.IsModelOutput()) return true;
      if (use.IsGraphOutput() || traits_[use.node].op_class == OpClass::kAllow) continue;
      if (!model_.node(use.node).bodies.empty() || IsSingularAtZero(model_, use)) return true;
      if (KeepsSmall(model_, use)) push_results(use.node);
    }
  }
  return false;
}

}  // namespace amp
