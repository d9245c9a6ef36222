#include "ir/patterns/saturating_constant.h"

#include <vector>

#include "absl/algorithm/container.h"
#include "ir/graph/constant.h"
#include "ir/operators/operator_facts.h"
#include "ir/operators/operator_roles.h"
#include "ir/patterns/pattern_search.h"

namespace amp {
namespace {

constexpr size_t kMostReaders = 64;  // of what is filled

bool IsClipBound(const Node& node, size_t port) { return port > 0 && node.Has(Role::kClips); }

bool IsFill(const Model& model, const Use& use) {
  constexpr size_t kCondition = 0;
  if (use.port == kCondition || !PatternSearch(model).Is(use.node, "Where")) return false;
  const auto elements = ConstantElements(model, model.node(use.node).Input(use.port), 1);
  return elements.has_value() && elements->size() == 1 && elements->front() < 0;
}

// Whether nothing else reads the value, but for what moves it there.
bool GoesToSoftmaxAlone(const Model& model, ValueId filled) {
  std::vector<ValueId> values = {filled};
  size_t readers = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    for (const Use& use : model.value(values[i]).uses) {
      if (use.IsGraphOutput() || ++readers > kMostReaders) return false;
      if (PatternSearch(model).Is(use.node, "Softmax")) continue;
      const Node& node = model.node(use.node);
      const bool passes_on = IsPlainCast(model, use.node) || RolesOf(model, use.node).Has(Role::kRearranges);
      if (!passes_on || use.port != 0 || node.Output(0) == kNone) return false;
      values.push_back(node.Output(0));
    }
  }
  return readers > 0;
}

}  // namespace

bool MaySaturate(const Model& model, const Use& use) {
  if (use.IsGraphOutput()) return false;
  const Node& node = model.node(use.node);
  if (IsClipBound(node, use.port)) return true;
  return IsFill(model, use) && GoesToSoftmaxAlone(model, node.Output(0));
}

}  // namespace amp
