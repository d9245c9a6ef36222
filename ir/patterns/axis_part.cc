#include "ir/patterns/axis_part.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "ir/graph/attributes.h"
#include "ir/graph/constant.h"
#include "ir/graph/shape.h"

namespace amp {
namespace {

using Pairs = RotaryForm::Pairs;

constexpr int64_t kSurelyTheEnd = INT32_MAX;  // exporters write this or more for "all the rest"
constexpr int64_t kMostParts = 8;
constexpr int kFarthest = 8;

int64_t LastDim(const Model& model, ValueId value) {
  const auto shape = ShapeOf(model, value);
  return shape.has_value() && !shape->empty() ? shape->back() : kUnknownDim;
}

// A bound of a Slice; those that are far outside any axis are kToTheEnd or its negative.
std::optional<int64_t> OneNumber(const Model& model, ValueId value) {
  const auto number = value == kNone ? std::nullopt : ScalarConstant(model, value);
  if (!number) return std::nullopt;
  if (std::abs(*number) >= kSurelyTheEnd) return *number > 0 ? kToTheEnd : -kToTheEnd;
  return static_cast<int64_t>(*number);
}

// From or to where a Slice goes: where Slice-1 has it as an attribute, where it is an input.
std::optional<int64_t> BoundOfSlice(const PatternSearch& search, const Node& slice, const char* attribute, size_t port,
                                    std::optional<int64_t> fallback) {
  if (slice.Input(port) != kNone) return OneNumber(search.model(), slice.Input(port));
  const auto numbers = GetInts(slice, attribute);
  if (!numbers.has_value()) return fallback;
  return numbers->size() == 1 ? std::optional(numbers->front()) : std::nullopt;
}

std::optional<Stretch> StretchOfSlice(NodeId id, const PatternSearch& search) {
  const Model& model = search.model();
  const Node& slice = search.node(id);
  const ValueId of = slice.Input(0);
  const auto axis = BoundOfSlice(search, slice, "axes", 3, std::nullopt);
  const auto start = BoundOfSlice(search, slice, "starts", 1, std::nullopt);
  const auto end = BoundOfSlice(search, slice, "ends", 2, std::nullopt);
  const auto step = BoundOfSlice(search, slice, "steps", 4, 1);
  if (!axis || !start || !end || !step || *step < 1 || !IsLastAxis(model, *axis, of)) return std::nullopt;
  Stretch found{of, *start, *end, *step};
  const int64_t size = LastDim(model, of);
  for (int64_t* const bound : {&found.start, &found.end}) {
    if (*bound < 0 && size > 0) *bound += size;
    if (*bound < 0) return std::nullopt;
  }
  if (found.end >= (size > 0 ? size : kSurelyTheEnd)) found.end = kToTheEnd;
  return found;
}

std::optional<Stretch> StretchOfSplit(NodeId id, size_t port, const PatternSearch& search) {
  const Model& model = search.model();
  const Node& split = search.node(id);
  const ValueId of = split.Input(0);
  if (!IsLastAxis(model, GetInt(split, "axis", 0), of)) return std::nullopt;
  auto sizes = GetInts(split, "split").value_or(std::vector<int64_t>());
  if (split.Input(1) != kNone) {
    const auto elements = ConstantElements(model, split.Input(1), kMostParts);
    if (!elements) return std::nullopt;
    sizes.assign(elements->begin(), elements->end());
  }
  if (std::any_of(sizes.begin(), sizes.end(), [](int64_t s) { return s < 0 || s >= kSurelyTheEnd; })) {
    return std::nullopt;
  }
  const auto count = static_cast<int64_t>(split.outputs.size());
  const int64_t size = LastDim(model, of);
  if (sizes.empty() && size > 0 && size % count == 0) sizes.assign(split.outputs.size(), size / count);
  if (port >= sizes.size() || sizes.size() != split.outputs.size()) return std::nullopt;
  Stretch found{of};
  for (size_t i = 0; i < port; ++i) found.start += sizes[i];
  if (port + 1 < sizes.size()) found.end = found.start + sizes[port];
  return found;
}

// Half of x's last dimension, computed: Shape, Gather, Div by 2, and what changes no number.
bool IsHalfOfLastDim(ValueId value, ValueId x, const PatternSearch& search) {
  bool is_halved = false;
  for (int step = 0; step < kFarthest && value != kNone; ++step) {
    const NodeId id = search.model().value(search.Origin(value)).producer;
    if (id == kNone || search.node(id).inputs.empty()) return false;
    const Node& node = search.node(id);
    value = node.Input(0);
    if (search.Is(id, "Div") && !is_halved && search.IsScalar(node.Input(1), 2)) {
      is_halved = true;
    } else if (search.Is(id, "Gather")) {
      const NodeId shape = search.Peek(value, "Shape");
      const auto index = OneNumber(search.model(), node.Input(1));
      return is_halved && shape != kNone && index && search.AreSame(search.node(shape).Input(0), x) &&
             !HasAttribute(search.node(shape), "start") && !HasAttribute(search.node(shape), "end") &&
             IsLastAxis(search.model(), *index, x);
    } else if (!search.Is(id, "Unsqueeze") && !search.Is(id, "Squeeze") && !search.Is(id, "Cast")) {
      return false;
    }
  }
  return false;
}

// A half whose border is computed.
std::optional<Part> TakeComputedHalf(ValueId value, PatternSearch& search) {
  const NodeId slice = search.Peek(value, "Slice");
  if (slice == kNone) return std::nullopt;
  const Node& node = search.node(slice);
  const Model& model = search.model();
  const ValueId x = node.Input(0);
  const auto axis = OneNumber(model, node.Input(3)), start = OneNumber(model, node.Input(1)),
             end = OneNumber(model, node.Input(2));
  const auto step = node.Input(4) == kNone ? 1 : OneNumber(model, node.Input(4));
  if (!axis || step != 1 || !IsLastAxis(model, *axis, x)) return std::nullopt;
  const bool is_first = start == 0 && node.Input(2) != kNone && IsHalfOfLastDim(node.Input(2), x, search);
  const bool is_second = end && *end >= kSurelyTheEnd && IsHalfOfLastDim(node.Input(1), x, search);
  if (!is_first && !is_second) return std::nullopt;
  search.Take(value, "Slice");
  return Part{x, Pairs::kHalves, is_first ? Side::kFirst : Side::kSecond};
}

std::optional<Side> SideOf(int64_t index) {
  if (index != 0 && index != 1) return std::nullopt;
  return index == 0 ? Side::kFirst : Side::kSecond;
}

// x[..., i] of x [..., size / 2, 2].
std::optional<Part> TakeOfLastAxis(ValueId value, PatternSearch& search) {
  const Model& model = search.model();
  if (const NodeId gather = search.Take(value, "Gather"); gather != kNone) {
    const Node& node = search.node(gather);
    const auto index = OneNumber(model, node.Input(1));
    const auto shape = ShapeOf(model, node.Input(1));
    const auto side = index ? SideOf(*index) : std::nullopt;
    const bool fits = side && shape.has_value() && shape->empty() && LastDim(model, node.Input(0)) == 2 &&
                      IsLastAxis(model, GetInt(node, "axis", 0), node.Input(0));
    return fits ? std::optional(Part{node.Input(0), Pairs::kLastAxis, *side}) : std::nullopt;
  }
  const NodeId squeeze = search.Take(value, "Squeeze");
  if (squeeze == kNone) return std::nullopt;
  const Node& node = search.node(squeeze);
  const auto axis = OnlyAxis(search, node);
  if (!axis || !IsLastAxis(model, *axis, node.Input(0))) return std::nullopt;
  const auto stretch = TakeStretch(node.Input(0), search);
  if (stretch) {
    const bool is_one = LastDim(model, stretch->of) == 2 && stretch->step == 1 &&
                        (stretch->end == kToTheEnd ? stretch->start == 1 : stretch->end == 1);
    const auto side = SideOf(stretch->start);
    return is_one && side ? std::optional(Part{stretch->of, Pairs::kLastAxis, *side}) : std::nullopt;
  }
  // A Split in two that is then squeezed can be nothing but one of pairs.
  const ValueId origin = search.Origin(node.Input(0));
  const NodeId split = model.value(origin).producer;
  const bool is_split = search.Is(split, "Split") && search.node(split).outputs.size() == 2 &&
                        search.node(split).Input(1) == kNone && !HasAttribute(search.node(split), "split") &&
                        IsLastAxis(model, GetInt(search.node(split), "axis", 0), search.node(split).Input(0));
  if (!is_split) return std::nullopt;
  search.Join(split);
  const Side side = search.node(split).Output(0) == origin ? Side::kFirst : Side::kSecond;
  return Part{search.node(split).Input(0), Pairs::kLastAxis, side};
}

std::optional<Part> PartOfStretch(const Stretch& stretch, const Model& model) {
  const int64_t size = LastDim(model, stretch.of);
  if (stretch.step == 2 && stretch.end == kToTheEnd) {
    const auto side = SideOf(stretch.start);
    return side ? std::optional(Part{stretch.of, Pairs::kInterleaved, *side}) : std::nullopt;
  }
  if (stretch.step != 1 || size <= 0 || size % 2 != 0) return std::nullopt;
  const bool is_first = stretch.start == 0 && stretch.end == size / 2;
  const bool is_second = stretch.start == size / 2 && stretch.end == kToTheEnd;
  if (!is_first && !is_second) return std::nullopt;
  return Part{stretch.of, Pairs::kHalves, is_first ? Side::kFirst : Side::kSecond};
}

}  // namespace

bool IsLastAxis(const Model& model, int64_t axis, ValueId value, int added) {
  if (axis == -1) return true;
  const auto shape = ShapeOf(model, value);
  return shape.has_value() && axis == static_cast<int64_t>(shape->size()) + added - 1;
}

std::optional<int64_t> OnlyAxis(const PatternSearch& search, const Node& node) {
  return BoundOfSlice(search, node, "axes", 1, std::nullopt);
}

std::optional<Stretch> TakeStretch(ValueId value, PatternSearch& search) {
  if (const NodeId slice = search.Peek(value, "Slice"); slice != kNone) {
    const auto found = StretchOfSlice(slice, search);
    if (found) search.Take(value, "Slice");
    return found;
  }
  const ValueId origin = search.Origin(value);
  const NodeId split = origin == kNone ? kNone : search.model().value(origin).producer;
  if (!search.Is(split, "Split")) return std::nullopt;
  const auto& outputs = search.node(split).outputs;
  const auto port = static_cast<size_t>(std::find(outputs.begin(), outputs.end(), origin) - outputs.begin());
  const auto found = StretchOfSplit(split, port, search);
  if (found) search.Join(split);
  return found;
}

std::optional<Part> TakePart(ValueId value, PatternSearch& search) {
  PatternSearch attempt = search;
  auto found = TakeOfLastAxis(value, attempt);
  if (!found) {
    attempt = search;
    if (const auto stretch = TakeStretch(value, attempt)) found = PartOfStretch(*stretch, search.model());
  }
  if (!found) {
    attempt = search;
    found = TakeComputedHalf(value, attempt);
  }
  if (found) search = std::move(attempt);
  return found;
}

}  // namespace amp
