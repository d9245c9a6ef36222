#include "passes/train/trainable.h"

#include <algorithm>
#include <cmath>

#include "absl/container/flat_hash_set.h"
#include "ir/base/status.h"
#include "ir/graph/constant.h"
#include "ir/graph/shape.h"
#include "passes/classify/glob.h"

namespace amp {
namespace {

// Operands that are learnt, where they are initializers: bit i stands for input i.
struct LearntOperands {
  absl::string_view op_type;
  uint32_t ports;
  bool may_be_fixed = false;  // masks and scales stand there as well
};
constexpr LearntOperands kLearnt[] = {
    {"Add", 0b11, true},
    {"BatchNormalization", 0b110},
    {"Conv", 0b110},
    {"ConvTranspose", 0b110},
    {"Einsum", ~0u},
    {"GRU", 0b1110},
    {"Gather", 0b1},
    {"Gemm", 0b111},
    {"GroupNormalization", 0b110},
    {"InstanceNormalization", 0b110},
    {"LSTM", 0b1110},
    {"LayerNormalization", 0b110},
    {"MatMul", 0b11},
    {"Mul", 0b11, true},
    {"PRelu", 0b10},
    {"RMSNormalization", 0b10},
    {"RNN", 0b1110},
};

constexpr int64_t kMostJudgedElements = 1 << 22;
constexpr double kLargestLearnt = 1e4;

bool IsFloat(const Value& value) { return LargestFinite(value.dtype) > 0 && BitsPerElement(value.dtype) >= 16; }

// Masks are: added to scores, they hold -1e9 or -infinity.
bool LooksFixed(const Model& model, ValueId value) {
  const auto elements = ConstantElements(model, value, kMostJudgedElements);
  return elements.has_value() &&
         !std::all_of(elements->begin(), elements->end(), [](double x) { return std::abs(x) <= kLargestLearnt; });
}

class LearntReads {
 public:
  explicit LearntReads(const Model& model) : model_(model) {}

  // Whether some operand that is learnt as a rule is the value, or the value moved about; in bodies too, through which
  // no gradient goes: better an error then than a weight that silently stays as it is.
  bool Has(ValueId root) const {
    std::vector<ValueId> todo = {root};
    absl::flat_hash_set<ValueId> seen = {root};
    const auto follow = [&](ValueId value) {
      if (value != kNone && seen.insert(value).second) todo.push_back(value);
    };
    while (!todo.empty()) {
      const ValueId value = todo.back();
      todo.pop_back();
      for (const Use& use : model_.value(value).uses) {
        if (use.IsGraphOutput()) {
          const NodeId owner = model_.graph(use.graph).owner;
          if (owner != kNone) follow(model_.node(owner).Output(use.port));
          continue;
        }
        if (IsLearnt(root, use)) return true;
        if (Moves(use)) follow(model_.node(use.node).Output(0));
      }
    }
    return false;
  }

 private:
  bool Moves(const Use& use) const {
    const Node& node = model_.node(use.node);
    if (node.Has(Role::kJoins)) return true;
    return use.port == 0 && (node.Has(Role::kRearranges) || node.Has(Role::kPlainCast));
  }

  bool IsLearnt(ValueId root, const Use& use) const {
    const Node& node = model_.node(use.node);
    if (!node.domain().empty()) return false;
    const auto row = std::find_if(std::begin(kLearnt), std::end(kLearnt),
                                  [&](const LearntOperands& learnt) { return learnt.op_type == node.op_type(); });
    if (row == std::end(kLearnt) || use.port >= 32 || (row->ports >> use.port & 1) == 0) return false;
    if (!row->may_be_fixed) return true;
    return (!IsSingle(root) || IsBiasOfProduct(root, use)) && !LooksFixed(model_, root);
  }

  bool IsSingle(ValueId root) const { return NumElements(model_, root) <= 1; }

  // A number beside anything is a constant of the formula; a bias of one class, [1] behind a product, is learnt.
  bool IsBiasOfProduct(ValueId root, const Use& use) const {
    const Node& node = model_.node(use.node);
    const auto shape = ShapeOf(model_, root);
    const NodeId producer = model_.value(node.Input(1 - use.port)).producer;
    return node.op_type() == "Add" && shape.has_value() && !shape->empty() && producer != kNone &&
           model_.node(producer).Has(Role::kMatrixProduct);
  }

  const Model& model_;
};

std::vector<std::string> FloatInitializers(const Model& model) {
  std::vector<std::string> names;
  for (const ValueId id : model.graph(kMainGraph).initializers) {
    if (IsFloat(model.value(id))) names.push_back(model.value(id).name);
  }
  return names;
}

// Marks what each glob names; an error for one that names nothing.
absl::StatusOr<absl::flat_hash_set<ValueId>> Named(const Model& model, absl::Span<const std::string> globs,
                                                   absl::string_view flag) {
  absl::flat_hash_set<ValueId> named;
  for (const std::string& pattern : globs) {
    AMP_ASSIGN_OR_RETURN(const Glob glob, Glob::Parse(pattern));
    bool is_used = false;
    for (const ValueId id : model.graph(kMainGraph).initializers) {
      if (!IsFloat(model.value(id)) || !glob.Matches(model.value(id).name)) continue;
      named.insert(id);
      is_used = true;
    }
    if (is_used) continue;
    return UsageError(flag, " '", Escaped(pattern), "' names no floating-point initializer of the model, which has ",
                      QuotedFirstOf(FloatInitializers(model)),
                      pattern.find(',') == std::string::npos ? "" : "; a comma is part of a name; repeat the flag");
  }
  return named;
}

}  // namespace

std::vector<ValueId> DefaultTrainable(const Model& model) {
  const LearntReads reads(model);
  std::vector<ValueId> trainable;
  for (const ValueId id : model.graph(kMainGraph).initializers) {
    const bool is_known = ShapeOf(model, id).has_value() && NumElements(model, id) > 0;
    if (IsFloat(model.value(id)) && is_known && reads.Has(id)) trainable.push_back(id);
  }
  return trainable;
}

absl::StatusOr<std::vector<ValueId>> ChooseTrainable(const Model& model, absl::Span<const std::string> trainable,
                                                     absl::Span<const std::string> freeze) {
  AMP_ASSIGN_OR_RETURN(const auto asked, Named(model, trainable, "--trainable"));
  AMP_ASSIGN_OR_RETURN(const auto frozen, Named(model, freeze, "--freeze"));
  std::vector<ValueId> candidates = DefaultTrainable(model);
  if (!trainable.empty()) {
    candidates = model.graph(kMainGraph).initializers;
    std::erase_if(candidates, [&](ValueId id) { return !asked.contains(id); });
  }
  std::erase_if(candidates, [&](ValueId id) { return frozen.contains(id); });
  if (candidates.empty()) return UsageError("nothing is left to train: expected a floating-point weight");
  return candidates;
}

}  // namespace amp
