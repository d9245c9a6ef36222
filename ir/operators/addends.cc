#include "ir/operators/addends.h"

#include <algorithm>
#include <cmath>

#include "ir/graph/attributes.h"
#include "ir/operators/operator_facts.h"
#include "ir/operators/operator_roles.h"

namespace amp {
namespace {

// Of products alone: elsewhere the attributes of these names are slopes and the like.
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
  return roles.HasAny(Role::kRoots | Role::kInverts | Role::kLogarithm);
}

bool KeepsSmall(const Model& model, const Use& use) {
  if (use.IsGraphOutput()) return false;
  const Node& node = model.node(use.node);
  const Roles roles = RolesOf(model, use.node);
  if (roles.HasAny(Role::kDivides | Role::kPowers)) return use.port == 0;
  if (roles.Has(Role::kBounds)) {
    const auto is_constant = [&](ValueId in) { return in != kNone && model.IsConstant(in); };
    return !roles.Has(Role::kClips) && std::none_of(node.inputs.begin(), node.inputs.end(), is_constant);
  }
  return roles.HasAny(Role::kMoves | Role::kMultiplies | Role::kNegates | Role::kSums) || IsCast(node);
}

}  // namespace amp
