#include "ir/patterns/count_pattern.h"

#include <algorithm>
#include <optional>

#include "ir/graph/attributes.h"
#include "ir/graph/constant.h"
#include "ir/graph/shape.h"
#include "ir/operators/operator_facts.h"

namespace amp {
namespace {

constexpr int kFarthest = 8;  // nodes one behind the other
constexpr int64_t kMostAxes = 8;

// Dimensions of the subject, by axis: a list of them, or what they multiply to.
struct Dims {
  std::vector<int64_t> axes = {};
  bool is_list = false;
};

class CountSearch {
 public:
  CountSearch(const std::function<bool(ValueId)>& is_subject, const PatternSearch& search)
      : is_subject_(is_subject), search_(search) {}

  std::optional<Dims> Of(ValueId value, int steps = 0) {
    const ValueId origin = search_.Origin(value);
    const NodeId id = origin == kNone || steps > kFarthest ? kNone : search_.model().value(origin).producer;
    if (id == kNone) return std::nullopt;
    nodes_.push_back(id);
    const Node& node = search_.node(id);
    if (search_.Is(id, "Shape")) return OfShape(node);
    if (search_.Is(id, "Mul")) return OfProduct(node, steps);
    const bool picks = search_.Is(id, "Gather") || search_.Is(id, "Slice");
    const bool passes_on = search_.Is(id, "Unsqueeze") || search_.Is(id, "Squeeze") || IsPlainCast(search_.model(), id);
    if (!picks && !passes_on && !search_.Is(id, "ReduceProd")) return std::nullopt;
    std::optional<Dims> dims = Of(node.Input(0), steps + 1);
    if (!dims || passes_on) return dims;
    if (!dims->is_list) return std::nullopt;
    if (search_.Is(id, "ReduceProd")) return Dims{.axes = std::move(dims->axes)};  // of a vector there is one axis
    return search_.Is(id, "Gather") ? Picked(node, *dims) : Sliced(node, *dims);
  }

  const std::vector<NodeId>& nodes() const { return nodes_; }

 private:
  std::optional<Dims> OfShape(const Node& shape) const {
    const auto of = ShapeOf(search_.model(), shape.Input(0));
    if (!is_subject_(shape.Input(0)) || !of.has_value()) return std::nullopt;
    const auto rank = static_cast<int64_t>(of->size());
    const auto from_end = [&](int64_t bound) {
      return std::clamp<int64_t>(bound < 0 ? bound : bound - rank, -rank, 0);
    };
    Dims dims{.is_list = true};
    const auto end = GetInt(shape, "end");
    const int64_t last = end ? from_end(*end) : 0;
    for (int64_t axis = from_end(GetInt(shape, "start", 0)); axis < last; ++axis) dims.axes.push_back(axis);
    return dims;
  }

  std::optional<Dims> OfProduct(const Node& node, int steps) {
    auto left = Of(node.Input(0), steps + 1);
    const auto right = left ? Of(node.Input(1), steps + 1) : std::nullopt;
    if (!right || IsLong(*left) || IsLong(*right)) return std::nullopt;
    left->axes.insert(left->axes.end(), right->axes.begin(), right->axes.end());
    left->is_list = false;
    return left;
  }

  static bool IsLong(const Dims& dims) { return dims.is_list && dims.axes.size() != 1; }

  std::optional<Dims> Picked(const Node& gather, const Dims& dims) const {
    const auto places = ConstantElements(search_.model(), gather.Input(1), kMostAxes);
    const auto shape = ShapeOf(search_.model(), gather.Input(1));
    if (!places || !shape) return std::nullopt;
    Dims picked{.is_list = !shape->empty()};
    const auto size = static_cast<double>(dims.axes.size());
    for (const double place : *places) {
      const double at = place < 0 ? place + size : place;
      if (at < 0 || at >= size) return std::nullopt;
      picked.axes.push_back(dims.axes[static_cast<size_t>(at)]);
    }
    return picked;
  }

  // By bounds that are inputs, in steps of one.
  std::optional<Dims> Sliced(const Node& slice, const Dims& dims) const {
    const auto start = ScalarConstant(search_.model(), slice.Input(1)),
               end = ScalarConstant(search_.model(), slice.Input(2));
    const bool has_steps = slice.Input(4) != kNone && ScalarConstant(search_.model(), slice.Input(4)) != 1.0;
    if (!start || !end || has_steps) return std::nullopt;
    const auto size = static_cast<double>(dims.axes.size());
    const auto place = [&](double bound) {
      return static_cast<size_t>(std::clamp(bound < 0 ? bound + size : bound, 0.0, size));
    };
    Dims part{.is_list = true};
    for (size_t i = place(*start); i < place(*end); ++i) part.axes.push_back(dims.axes[i]);
    return part;
  }

  const std::function<bool(ValueId)>& is_subject_;
  const PatternSearch& search_;
  std::vector<NodeId> nodes_;
};

}  // namespace

bool CountsAlong(ValueId count, const std::vector<int64_t>& axes, const std::function<bool(ValueId)>& is_subject,
                 PatternSearch& search) {
  CountSearch found(is_subject, search);
  std::optional<Dims> dims = found.Of(count);
  if (!dims || (dims->is_list && dims->axes.size() != 1)) return false;
  std::sort(dims->axes.begin(), dims->axes.end());
  if (dims->axes != axes) return false;
  for (const NodeId id : found.nodes()) search.JoinIfOwn(id);
  return true;
}

}  // namespace amp
