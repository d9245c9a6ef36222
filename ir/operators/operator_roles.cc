#include "ir/operators/operator_roles.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "ir/base/saturated.h"
#include "ir/graph/attributes.h"
#include "ir/graph/constant.h"
#include "ir/graph/shape.h"

namespace amp {
namespace {

// Axes of a reduction, negative ones resolved; nothing when they are not known. `rank` axes when none are named.
std::optional<std::vector<int64_t>> ReducedAxes(const Model& model, const Node& node, int64_t rank) {
  std::vector<int64_t> axes = GetInts(node, "axes").value_or(std::vector<int64_t>());
  if (node.Input(1) != kNone) {
    const auto elements = ConstantElements(model, node.Input(1), rank);
    if (!elements.has_value()) return std::nullopt;
    axes.assign(elements->begin(), elements->end());
  }
  if (axes.empty() && GetInt(node, "noop_with_empty_axes", 0) == 0) {
    for (int64_t axis = 0; axis < rank; ++axis) axes.push_back(axis);
  }
  for (int64_t& axis : axes) {
    if (axis < 0) axis += rank;
    if (axis < 0 || axis >= rank) return std::nullopt;
  }
  return axes;
}

int64_t Product(const std::vector<int64_t>& factors) {
  int64_t product = 1;
  for (const int64_t factor : factors) {
    if (factor < 0) return -1;
    product = SaturatedProduct(product, factor);
  }
  return product;
}

bool Is(const std::optional<double>& constant, double wanted) { return constant.has_value() && *constant == wanted; }

}  // namespace

Roles RolesOf(const Model& model, NodeId id) {
  const Node& node = model.node(id);
  return node.schema == nullptr ? Roles() : node.op->roles;
}

ValueId SquaredValue(const Model& model, NodeId id) {
  const Node& node = model.node(id);
  const Roles roles = RolesOf(model, id);
  if (roles.Has(Role::kSquares) && !node.inputs.empty()) return node.Input(0);
  if (node.inputs.size() != 2 || node.Input(0) == kNone) return kNone;
  if (roles.Has(Role::kMultiplies) && node.Input(0) == node.Input(1)) return node.Input(0);
  if (roles.Has(Role::kPowers) && Is(ScalarConstant(model, node.Input(1)), 2)) return node.Input(0);
  return kNone;
}

Interval ClipBounds(const Model& model, const Node& clip) {
  const auto bound = [&](size_t port, const char* attribute) -> std::optional<double> {
    if (clip.Input(port) != kNone) return ScalarConstant(model, clip.Input(port));
    return GetFloat(clip, attribute);
  };
  const Interval unknown;
  return {bound(1, "min").value_or(unknown.low), bound(2, "max").value_or(unknown.high)};
}

bool TakesRoot(const Model& model, NodeId id) {
  const Roles roles = RolesOf(model, id);
  if (roles.Has(Role::kRoots)) return true;
  const Node& node = model.node(id);
  if (!roles.Has(Role::kPowers) || node.inputs.size() != 2) return false;
  const auto exponent = ScalarConstant(model, node.Input(1));
  return Is(exponent, 0.5) || Is(exponent, -0.5);
}

int64_t SummedElements(const Model& model, NodeId id) {
  const Node& node = model.node(id);
  if (!RolesOf(model, id).Has(Role::kSums) || node.Input(0) == kNone) return -1;
  if (const auto kernel = GetInts(node, "kernel_shape")) return Product(*kernel);
  const auto shape = ShapeOf(model, node.Input(0));
  if (!shape.has_value()) return -1;
  const auto rank = static_cast<int64_t>(shape->size());
  std::vector<int64_t> summed;
  if (node.Has(Role::kPoolsGlobally)) {
    summed.assign(shape->begin() + std::min<int64_t>(2, rank), shape->end());
    return Product(summed);
  }
  const auto axes = ReducedAxes(model, node, rank);
  if (!axes.has_value()) return -1;
  for (const int64_t axis : *axes) summed.push_back((*shape)[static_cast<size_t>(axis)]);
  return Product(summed);
}

}  // namespace amp
