#include "ir/patterns/product_of_dims.h"

#include <algorithm>
#include <cstdint>

#include "ir/operators/operator_facts.h"

namespace amp {
namespace {

constexpr int kFarthest = 8;  // nodes one behind the other

enum class Holds : uint8_t { kOther, kDims, kProduct };

Holds Find(const Model& model, ValueId value, int steps) {  // NOLINT(misc-no-recursion)
  const NodeId id = value == kNone || steps > kFarthest ? kNone : model.value(value).producer;
  if (id == kNone || model.IsCallOfFunction(id)) return Holds::kOther;
  const Node& node = model.node(id);
  if (node.Has(Role::kCountsElements)) return Holds::kProduct;
  if (node.Has(Role::kReadsShape)) return Holds::kDims;
  const auto input = [&](size_t port) { return Find(model, node.Input(port), steps + 1); };
  if (node.Has(Role::kMultiplies) && node.inputs.size() == 2) {
    const Holds a = input(0), b = input(1);
    if (a == Holds::kDims && b == Holds::kDims) return Holds::kProduct;
    const ValueId other = node.Input(a == Holds::kOther ? 0 : 1);
    const bool is_scaled = std::min(a, b) != Holds::kOther || model.IsConstant(other);
    return is_scaled ? std::max(a, b) : Holds::kOther;
  }
  const bool is_of_all = node.domain().empty() && node.op_type() == "ReduceProd";
  if (is_of_all) return input(0) == Holds::kOther ? Holds::kOther : Holds::kProduct;
  return IsCast(node) || CopiesElements(model, id) ? input(0) : Holds::kOther;
}

}  // namespace

bool IsProductOfDims(const Model& model, ValueId value) { return Find(model, value, 0) == Holds::kProduct; }

}  // namespace amp
