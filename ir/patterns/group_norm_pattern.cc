#include "ir/patterns/group_norm_pattern.h"

#include <algorithm>
#include <utility>

#include "ir/graph/attributes.h"
#include "ir/graph/constant.h"
#include "ir/graph/shape.h"
#include "ir/patterns/norm_pattern.h"
#include "ir/patterns/pattern_search.h"

namespace amp {
namespace {

constexpr int64_t kMostGroups = 65536;
constexpr float kInstanceEpsilon = 1e-5f;  // of InstanceNormalization without the attribute

bool AreAll(const Model& model, ValueId value, double wanted) {
  const auto elements = ConstantElements(model, value, kMostGroups);
  return elements.has_value() && !elements->empty() &&
         std::all_of(elements->begin(), elements->end(), [&](double e) { return e == wanted; });
}

struct Inner {
  ValueId grouped = kNone;
  double epsilon = 0;
};

// The norm of the groups that ends in `value`.
std::optional<Inner> FindInner(const Model& model, ValueId value, PatternSearch& search) {
  if (const NodeId norm = search.Take(value, "InstanceNormalization"); norm != kNone) {
    const Node& node = search.node(norm);
    if (!AreAll(model, node.Input(1), 1) || !AreAll(model, node.Input(2), 0)) return std::nullopt;
    return Inner{node.Input(0), GetFloat(node, "epsilon", kInstanceEpsilon)};
  }
  for (const absl::string_view op_type : {"Div", "Mul"}) {
    const NodeId anchor = search.Peek(value, op_type);
    if (anchor == kNone) continue;
    const FoundNormalisation found = FindNormalisation(anchor, search);
    if (!found.normalisation || !found.normalisation->is_centred) return std::nullopt;
    if (found.normalisation->scale != kNone) return std::nullopt;
    const auto shape = ShapeOf(model, found.normalisation->x);
    const std::vector<int64_t>& axes = found.normalisation->axes;
    const bool has_all_behind = shape.has_value() && axes.size() + 2 == shape->size() &&
                                axes.front() == -static_cast<int64_t>(axes.size()) && axes.back() == -1;
    if (!has_all_behind) return std::nullopt;
    return Inner{found.normalisation->x, found.normalisation->epsilon};
  }
  return std::nullopt;
}

// A Shape that nobody else reads joins.
bool HasShapeOf(PatternSearch& search, NodeId reshape, ValueId x) {
  const Model& model = search.model();
  const NodeId shape_of = search.Peek(search.node(reshape).Input(1), "Shape");
  if (shape_of != kNone) {
    const Node& node = search.node(shape_of);
    if (model.value(node.Output(0)).uses.size() == 1) search.Take(search.node(reshape).Input(1), "Shape");
    return search.AreSame(node.Input(0), x) && !HasAttribute(node, "start") && !HasAttribute(node, "end");
  }
  const auto now = ShapeOf(model, search.node(reshape).Output(0)), before = ShapeOf(model, x);
  const auto is_known = [](int64_t dim) { return dim > 0; };
  return now.has_value() && now == before && std::all_of(now->begin(), now->end(), is_known);
}

// Whether grouping leaves the batch as it is: [0, G, ...], or the same known number.
bool KeepsBatch(const Model& model, const Node& reshape, int64_t batch, int64_t batch_now) {
  if (batch > 0 && batch == batch_now) return true;
  const auto dims = ConstantElements(model, reshape.Input(1), 8);
  return dims.has_value() && !dims->empty() && dims->front() == 0 && GetInt(reshape, "allowzero", 0) == 0;
}

}  // namespace

Recognised RecogniseGroupNorm(const Model& model, NodeId anchor) {
  PatternSearch search(model);
  if (!search.Is(anchor, "Reshape")) return "no reshape";
  search.Join(anchor);
  const auto inner = FindInner(model, search.node(anchor).Input(0), search);
  if (!inner.has_value()) return "it reshapes no norm without scale and shift";
  const NodeId reshape = search.Take(inner->grouped, "Reshape");
  if (reshape == kNone) return "what is normalised is not reshaped";
  const ValueId x = search.node(reshape).Input(0);
  const auto shape = ShapeOf(model, x), grouped = ShapeOf(model, search.node(reshape).Output(0));
  if (!shape.has_value() || !grouped.has_value() || shape->size() < 3 || grouped->size() < 3) {
    return "the shapes around it are not known";
  }
  const int64_t channels = (*shape)[1], groups = (*grouped)[1];
  if (channels <= 0 || groups <= 0 || channels % groups != 0) return "its groups do not divide the channels";
  if (!KeepsBatch(model, search.node(reshape), (*shape)[0], (*grouped)[0])) return "it mixes the batch";
  if (!HasShapeOf(search, anchor, x)) return "the shape behind it is not the one before";

  const ScaleAndShift scaled = FindScaleAndShift({.last = anchor}, WithShift::kYes, search,
                                                 [&](ValueId v) { return IsPerChannel(model, v, x); });
  Pattern pattern{.kind = PatternKind::kGroupNorm, .inputs = {x, scaled.scale, scaled.shift}};
  pattern.groups = groups;
  pattern.epsilon = inner->epsilon;
  return search.Complete(std::move(pattern), scaled.last);
}

}  // namespace amp
