#include "ir/patterns/pattern_search.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "ir/base/status.h"
#include "ir/graph/attributes.h"
#include "ir/graph/constant.h"
#include "ir/graph/shape.h"
#include "ir/operators/operator_facts.h"
#include "ir/operators/operator_roles.h"

namespace amp {
namespace {

constexpr int kFarthest = 4;  // casts in a row
constexpr int64_t kMostAxes = 8;

}  // namespace

bool PatternSearch::Is(NodeId id, absl::string_view op_type) const {
  if (id == kNone) return false;
  const Node& n = node(id);
  return n.schema != nullptr && n.domain().empty() && n.op_type() == op_type && n.Output(0) != kNone;
}

// A copy, or a cast of float32 to float32.
bool PatternSearch::PassesOn(NodeId id) const {
  if (Is(id, "Identity")) return true;
  if (!IsPlainCast(*model_, id)) return false;
  const DType from = model_->value(node(id).Input(0)).dtype;
  return from != DType::kUndefined && from == model_->value(node(id).Output(0)).dtype;
}

ValueId PatternSearch::Origin(ValueId value) const {
  for (int step = 0; step < kFarthest && value != kNone; ++step) {
    const NodeId id = model_->value(value).producer;
    if (id == kNone || !PassesOn(id)) break;
    value = node(id).Input(0);
  }
  return value;
}

NodeId PatternSearch::Peek(ValueId value, absl::string_view op_type) const {
  const ValueId origin = Origin(value);
  const NodeId id = origin == kNone ? kNone : model_->value(origin).producer;
  return Is(id, op_type) && node(id).Output(0) == origin ? id : kNone;
}

NodeId PatternSearch::Take(ValueId value, absl::string_view op_type) {
  const NodeId found = Peek(value, op_type);
  if (found == kNone) return kNone;
  for (NodeId id = model_->value(value).producer; id != found; id = model_->value(node(id).Input(0)).producer) Join(id);
  Join(found);
  return found;
}

void PatternSearch::Join(NodeId id) {
  if (std::find(joined_.begin(), joined_.end(), id) == joined_.end()) joined_.push_back(id);
}

ValueId PatternSearch::TakeExpanded(ValueId value) {
  const NodeId expand = Take(value, "Expand");
  if (expand == kNone) return value;
  expanded_.push_back(expand);
  if (const NodeId shape = Peek(node(expand).Input(1), "Shape"); shape != kNone) JoinIfOwn(shape);
  return node(expand).Input(0);
}

bool PatternSearch::Widens(ValueId x) const {
  return std::any_of(expanded_.begin(), expanded_.end(), [&](NodeId id) {
    const NodeId of = Peek(node(id).Input(1), "Shape");
    const bool is_of_x = of != kNone && AreSame(node(of).Input(0), x) && !HasAttribute(node(of), "start") &&
                         !HasAttribute(node(of), "end");
    const auto shape = ShapeOf(*model_, node(id).Output(0)), of_x = ShapeOf(*model_, x);
    const bool is_known = shape && of_x && std::all_of(of_x->begin(), of_x->end(), [](int64_t d) { return d > 0; });
    return !is_of_x && !(is_known && *shape == *of_x);
  });
}

bool PatternSearch::AreSame(ValueId a, ValueId b) const {
  a = Origin(a);
  b = Origin(b);
  if (a == kNone || b == kNone) return false;
  if (a == b) return true;
  const NodeId one = model_->value(a).producer, other = model_->value(b).producer;
  if (one == kNone || other == kNone || !IsPlainCast(*model_, one) || !IsPlainCast(*model_, other)) return false;
  const bool is_one_type =
      model_->value(a).dtype == model_->value(b).dtype && model_->value(a).dtype != DType::kUndefined;
  return is_one_type && node(one).Input(0) == node(other).Input(0);
}

std::optional<double> PatternSearch::Scalar(ValueId value) const {
  if (value == kNone) return std::nullopt;
  const auto shape = ShapeOf(*model_, value);
  if (!shape.has_value() || shape->size() > 1) return std::nullopt;
  return ScalarConstant(*model_, value);
}

bool PatternSearch::IsScalar(ValueId value, double wanted) const {
  const std::optional<double> scalar = Scalar(value);
  return scalar.has_value() && *scalar == wanted;
}

std::optional<PatternSearch::WithScalar> PatternSearch::SplitScalar(NodeId id) const {
  const Node& n = node(id);
  if (n.inputs.size() != 2) return std::nullopt;
  for (const size_t port : {size_t{1}, size_t{0}}) {
    if (const auto scalar = Scalar(n.Input(port))) return WithScalar{n.Input(1 - port), *scalar};
  }
  return std::nullopt;
}

ValueId PatternSearch::Squared(NodeId id) const {
  const Node& n = node(id);
  if (n.inputs.size() != 2) return kNone;
  if (Is(id, "Mul") && AreSame(n.Input(0), n.Input(1))) return n.Input(0);
  return Is(id, "Pow") && IsScalar(n.Input(1), 2) ? n.Input(0) : kNone;
}

ValueId PatternSearch::OtherOperand(NodeId id, ValueId value) const {
  const Node& n = node(id);
  if (n.inputs.size() != 2) return kNone;
  const bool is_first = AreSame(n.Input(0), value), is_second = AreSame(n.Input(1), value);
  if (is_first == is_second) return kNone;
  return n.Input(is_first ? 1 : 0);
}

std::optional<std::vector<int64_t>> PatternSearch::KeptAxes(NodeId reduction) const {
  return GetInt(node(reduction), "keepdims", 1) == 1 ? Axes(reduction) : std::nullopt;
}

std::optional<std::vector<int64_t>> PatternSearch::Axes(NodeId reduction) const {
  const Node& n = node(reduction);
  std::vector<int64_t> axes = GetInts(n, "axes").value_or(std::vector<int64_t>());
  if (n.Input(1) != kNone) {
    const auto elements = ConstantElements(*model_, n.Input(1), kMostAxes);
    if (!elements.has_value()) return std::nullopt;
    axes.assign(elements->begin(), elements->end());
  }
  const auto shape = ShapeOf(*model_, n.Input(0));
  const int64_t rank = shape.has_value() ? static_cast<int64_t>(shape->size()) : 0;
  for (int64_t& axis : axes) {
    if (axis >= 0) axis -= rank;
    if (axis >= 0 || (rank > 0 && axis < -rank)) return std::nullopt;
  }
  std::sort(axes.begin(), axes.end());
  const bool has_twins = std::adjacent_find(axes.begin(), axes.end()) != axes.end();
  if (axes.empty() || has_twins) return std::nullopt;
  return axes;
}

NodeId PatternSearch::OnlyReader(NodeId id, absl::string_view op_type) const {
  const ValueId out = node(id).Output(0);
  const auto& uses = model_->value(out).uses;
  if (out == kNone || uses.empty() || uses[0].IsGraphOutput() || !Is(uses[0].node, op_type)) return kNone;
  const auto is_elsewhere = [&](const Use& use) { return use.node != uses[0].node; };
  return std::any_of(uses.begin(), uses.end(), is_elsewhere) ? kNone : uses[0].node;
}

bool PatternSearch::IsReadOutside(NodeId id) const {
  const auto is_outside = [&](const Use& use) {
    return use.IsGraphOutput() || std::find(joined_.begin(), joined_.end(), use.node) == joined_.end();
  };
  for (const ValueId out : node(id).PresentOutputs()) {
    const auto& uses = model_->value(out).uses;
    if (std::any_of(uses.begin(), uses.end(), is_outside)) return true;
  }
  return false;
}

// Until none is left that does.
void PatternSearch::JoinOwn(GraphId graph) {
  for (size_t before = maybe_.size() + 1; before != maybe_.size();) {
    before = maybe_.size();
    std::erase_if(maybe_, [&](NodeId id) {
      if (node(id).graph != graph || IsReadOutside(id)) return false;
      Join(id);
      return true;
    });
  }
}

Reason PatternSearch::ObstacleToClosing(NodeId last) const {
  const auto is_inside = [&](NodeId id) { return std::find(joined_.begin(), joined_.end(), id) != joined_.end(); };
  for (const NodeId id : joined_) {
    const Node& n = node(id);
    if (n.graph != node(last).graph) return absl::StrCat("'", Escaped(model_->NodeLabel(id)), "' is in another graph");
    if (id == last) continue;
    for (const ValueId out : n.PresentOutputs()) {
      for (const Use& use : model_->value(out).uses) {
        if (!use.IsGraphOutput() && is_inside(use.node)) continue;
        return absl::StrCat("'", Escaped(model_->value(out).name), "' is read from outside");
      }
    }
  }
  return Reason::None();
}

Recognised PatternSearch::Complete(Pattern pattern, NodeId last) const {
  PatternSearch whole = *this;
  whole.JoinOwn(node(last).graph);
  if (Reason why = whole.ObstacleToClosing(last)) return why;
  // Each after those that it reads.
  std::vector<NodeId> left = whole.joined_;
  const auto is_left = [&](ValueId value) {
    const NodeId producer = model_->value(value).producer;
    return producer != kNone && std::find(left.begin(), left.end(), producer) != left.end();
  };
  std::sort(left.begin(), left.end());
  while (!left.empty()) {
    const auto next = std::find_if(left.begin(), left.end(), [&](NodeId id) {
      const auto& inputs = node(id).inputs;
      return std::none_of(inputs.begin(), inputs.end(), is_left);
    });
    AMP_CHECK(next != left.end());
    pattern.nodes.push_back(*next);
    left.erase(next);
  }
  AMP_CHECK(pattern.last() == last);
  return pattern;
}

}  // namespace amp
