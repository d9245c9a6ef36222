#include "ir/operators/addends.h"

#include <cmath>

#include "ir/graph/attributes.h"
#include "ir/operators/operator_facts.h"
#include "ir/operators/operator_roles.h"

namespace amp {
namespace {

// Returns the factor of a product; on other operators attributes of these names are slopes and the like.
double FactorOf(const Node& node, absl::string_view attribute) {
  return node.Has(Role::kHeavy) ? std::abs(GetFloat(node, attribute, 1)) : 1;
}

}  // namespace

bool IsAddend(const Model& model, NodeId id, size_t port) {
  constexpr size_t kMostPorts = 32;
  if (RolesOf(model, id).Has(Role::kAdds)) return true;
  const Node& node = model.node(id);
  return node.schema != nullptr && port < kMostPorts && (node.op->addends >> port & 1u) != 0;
}

double FactorOfAddends(const Node& node) { return FactorOf(node, "beta"); }
double FactorOfProducts(const Node& node) { return FactorOf(node, "alpha"); }

bool IsSingularAtZero(const Model& model, const Use& use) {
  if (use.IsGraphOutput()) return false;
  const Roles roles = RolesOf(model, use.node);
  if (roles.Has(Role::kDivides)) return use.port == 1;
  if (roles.Has(Role::kPowers)) return use.port == 0 && SquaredValue(model, use.node) == kNone;
  return roles.HasAny(Role::kRoots | Role::kInverts | Role::kLogarithm | Role::kDividesByLength | Role::kCompares);
}

bool KeepsSmall(const Model& model, const Use& use) {
  if (use.IsGraphOutput()) return false;
  const Node& node = model.node(use.node);
  const Roles roles = RolesOf(model, use.node);
  if (roles.HasAny(Role::kDivides | Role::kPowers)) return use.port == 0;
  const bool is_share = node.op->results.low == 0 && node.op->results.high == 1;  // Sigmoid, Softmax
  constexpr Roles kGivesMore = Role::kAdds | Role::kHeavy | Role::kProducts | Role::kNormalises | Role::kExponential |
                               Role::kPeriodic | Role::kSoftmax | Role::kReadsShape | Role::kFindsIndex;
  return !is_share && !roles.HasAny(kGivesMore);
}

}  // namespace amp
