#include "ir/patterns/saturating_constant.h"

#include <array>
#include <vector>

#include "absl/algorithm/container.h"
#include "ir/graph/constant.h"
#include "ir/operators/operator_facts.h"
#include "ir/operators/operator_roles.h"
#include "ir/patterns/pattern_search.h"

namespace amp {
namespace {

constexpr size_t kMostUses = 256;  // of a fill: each is looked at for each
constexpr int kMostMoves = 16;     // between a fill and who asks for it

// Reshape, Transpose or a cast of the value.
bool PassesOn(const Model& model, const Use& use) {
  const bool moves = IsPlainCast(model, use.node) || RolesOf(model, use.node).Has(Role::kRearranges);
  return moves && use.port == 0 && model.node(use.node).Output(0) != kNone;
}

// Whether nothing else reads the value, but for what moves it there.
bool GoesToSoftmaxAlone(const Model& model, ValueId filled) {
  std::vector<ValueId> values = {filled};
  bool is_read = false;
  for (size_t i = 0; i < values.size(); ++i) {
    for (const Use& use : model.value(values[i]).uses) {
      if (use.IsGraphOutput()) return false;
      is_read = true;
      if (PatternSearch(model).Is(use.node, "Softmax")) continue;
      if (!PassesOn(model, use)) return false;
      values.push_back(model.node(use.node).Output(0));
    }
  }
  return is_read;
}

bool IsFill(const Model& model, const Use& use) {
  constexpr size_t kCondition = 0, kThen = 1, kElse = 2;
  if (use.IsGraphOutput() || use.port == kCondition || !PatternSearch(model).Is(use.node, "Where")) return false;
  const Node& node = model.node(use.node);
  if (model.IsConstant(node.Input(use.port == kThen ? kElse : kThen))) return false;
  const auto elements = ConstantElements(model, node.Input(use.port), 1);
  if (!elements.has_value() || elements->size() != 1 || !(elements->front() < 0)) return false;
  return GoesToSoftmaxAlone(model, node.Output(0));
}

}  // namespace

bool IsClipBound(const Model& model, const Use& use) {
  return !use.IsGraphOutput() && use.port > 0 && model.node(use.node).Has(Role::kClips);
}

bool MaySaturate(const Model& model, const Use& use) {
  if (IsClipBound(model, use)) return true;
  if (!IsFill(model, use)) return false;
  const std::vector<Use>& uses = model.value(model.node(use.node).Input(use.port)).uses;
  return uses.size() <= kMostUses &&
         absl::c_all_of(uses, [&](const Use& other) { return IsClipBound(model, other) || IsFill(model, other); });
}

bool IsFilledForSoftmax(const Model& model, ValueId value) {
  for (int moves = 0; moves < kMostMoves && value != kNone; ++moves) {
    const NodeId id = model.value(value).producer;
    if (id == kNone) return false;
    if (PatternSearch(model).Is(id, "Where")) {
      return absl::c_any_of(std::array<size_t, 2>{1, 2}, [&](size_t port) {
        return model.IsConstant(model.node(id).Input(port)) && MaySaturate(model, {.node = id, .port = port});
      });
    }
    if (!PassesOn(model, {.node = id})) return false;
    value = model.node(id).Input(0);
  }
  return false;
}

}  // namespace amp
