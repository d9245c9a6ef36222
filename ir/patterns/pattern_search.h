// The search of recognisers of patterns: from a value back to the node that gives it, past casts that change nothing,
// with a list of the nodes that belong to the pattern.
//
// Names of operators are looked up at the model's opset: a call of a model-local function is never taken for one.
#ifndef AMP_IR_PATTERNS_PATTERN_SEARCH_H_
#define AMP_IR_PATTERNS_PATTERN_SEARCH_H_

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ir/patterns/pattern.h"

namespace amp {

class PatternSearch {
 public:
  explicit PatternSearch(const Model& model) : model_(&model) {}

  const Model& model() const { return *model_; }
  const Node& node(NodeId id) const { return model_->node(id); }

  // An operator of ai.onnx by name.
  bool Is(NodeId id, absl::string_view op_type) const;
  // Takes the producer of a value behind casts that change nothing, which join the pattern together with it; kNone if
  // it is another operator. May be asked only for nodes that end up in the pattern.
  NodeId Take(ValueId value, absl::string_view op_type);
  // Returns that producer without joining it.
  NodeId Peek(ValueId value, absl::string_view op_type) const;
  void Join(NodeId id);
  // The nodes that joined, in the order in which they did.
  absl::Span<const NodeId> joined() const { return joined_; }
  // Joins in the end, if nothing outside of the pattern reads what it gives.
  void JoinIfOwn(NodeId id) { maybe_.push_back(id); }
  // Returns the input of an Expand, which joins; any other value as it is. If the Expand makes it no larger than the
  // pattern's input (Widens), the pattern is the same without it.
  ValueId TakeExpanded(ValueId value);
  // Whether an Expand that joined may have made something larger than `x`.
  bool Widens(ValueId x) const;

  // Returns the value ahead of casts that change nothing, and of copies.
  ValueId Origin(ValueId value) const;
  // One value, or two of which both are what one cast or another makes of one value.
  bool AreSame(ValueId a, ValueId b) const;
  // The first operand that is a constant of one element, and the other one: the operand order of Add and Mul says
  // nothing. Nothing where there is none.
  struct WithScalar {
    ValueId variable = kNone;
    double scalar = 0;
  };
  std::optional<WithScalar> SplitScalar(NodeId id) const;
  // A constant with one element that widens nothing it meets: of rank 1 at most.
  std::optional<double> Scalar(ValueId value) const;
  bool IsScalar(ValueId value, double wanted) const;
  // Mul(x, x) or Pow(x, 2): x; else kNone.
  ValueId Squared(NodeId id) const;
  // The operand of a binary node that is not `value`; kNone if neither or both are.
  ValueId OtherOperand(NodeId id, ValueId value) const;

  // The axes of a reduction, from the end of what it reads and in order; nothing where they are not known.
  std::optional<std::vector<int64_t>> Axes(NodeId reduction) const;
  // Returns the axes of a reduction that keeps them; nothing if it drops them.
  std::optional<std::vector<int64_t>> KeptAxes(NodeId reduction) const;
  // The one reader of a node's first output, behind casts that change nothing, which join; kNone where there are more,
  // or it is a graph output.
  NodeId OnlyReader(NodeId id, absl::string_view op_type) const;

  // Returns the pattern with the nodes that joined, in order; a reason if they are not all in one graph, or a value
  // inside is read from outside. `last` is the one whose result stays.
  Recognised Complete(Pattern pattern, NodeId last) const;

 private:
  bool PassesOn(NodeId id) const;
  Reason ObstacleToClosing(NodeId last) const;
  bool IsReadOutside(NodeId id) const;
  void JoinOwn(GraphId graph);

  const Model* model_;  // a search is copied for every attempt
  std::vector<NodeId> joined_;
  std::vector<NodeId> maybe_;     // that join if they are the pattern's own
  std::vector<NodeId> expanded_;  // Expands that joined
};

}  // namespace amp

#endif  // AMP_IR_PATTERNS_PATTERN_SEARCH_H_
