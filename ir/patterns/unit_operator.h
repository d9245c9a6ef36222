// The one operator that computes a whole norm, with its statistics in float32 whatever the type of its data.
//
//   LayerNorm, seven nodes, the last of them [add] y = Add(t, shift)
//     ->  [add] y = LayerNormalization <axis = -1, epsilon = 1e-05, stash_type = 1> (x, scale, shift)
//
// The last node becomes the operator, and keeps its name and its result; the others go, with the constants that nobody
// else reads. What is needed to put them back comes along. Scale and shift of a norm over channels lose the ones of
// their shape; where a norm has none, the operator gets ones and zeros.
#ifndef AMP_IR_PATTERNS_UNIT_OPERATOR_H_
#define AMP_IR_PATTERNS_UNIT_OPERATOR_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ir/base/reason.h"
#include "ir/graph/graph.h"
#include "ir/patterns/pattern.h"

namespace amp {

// The lowest opset that has the operator; 0 where none computes such a pattern.
int OpsetOfUnit(PatternKind kind);
absl::string_view NameOfUnit(PatternKind kind);
// Whether the node is the operator that would stand for the pattern, whatever it reads.
bool IsUnitOf(const Model& model, const Pattern& pattern, const Node& node);
// Why the operator cannot stand for this one, at any opset.
Reason ObstacleToUnit(const Model& model, const Pattern& pattern);

struct UnitOperator {
  // A value that the nodes read from outside, by the name that they know it by: a port of the unit, a constant or,
  // without either, a constant that was taken (TakeUnreadConstants).
  struct Operand {
    std::string name;
    std::optional<size_t> port;
    ValueId value = kNone;
  };
  struct Reshaped {
    ValueId value = kNone;
    std::vector<int64_t> dims;  // before
  };
  NodeId node = kNone;
  int opset = 0;  // at which the nodes are what they were
  std::vector<std::string> nodes =
      {};  // their messages' bytes in an order in which they can run; the last one is `node`
  std::vector<Operand> operands = {};
  std::vector<ValueId> made = {};  // constants
  std::vector<Reshaped> reshaped = {};
};

// REQUIRES: no obstacle, and an opset that has the operator. Schemas of the edited nodes are the next SetOpset's to
// find.
UnitOperator MakeUnit(Model& model, const Pattern& pattern);

// Removes initializers of the main graph that only these units' nodes read, and returns their messages' bytes. Large
// ones and those whose bytes are elsewhere stay. The operands know them by name from then on.
std::vector<std::string> TakeUnreadConstants(Model& model, absl::Span<UnitOperator* const> units);
// Puts such an initializer back, under another name where its own is taken; kNone for bytes that are none.
struct RestoredConstant {
  std::string name;  // that it had
  ValueId value = kNone;
};
RestoredConstant RestoreConstant(Model& model, const std::string& bytes);

// Puts the nodes back, in front of the last one. False, and no effect, where that does not fit the model: it may be any
// file's word that such nodes were there. Types are to be found again, and schemas by the next SetOpset.
bool TakeUnitBack(Model& model, const UnitOperator& unit);

}  // namespace amp

#endif  // AMP_IR_PATTERNS_UNIT_OPERATOR_H_
