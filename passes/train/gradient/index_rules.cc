// Operators that pick elements by number. What was picked gets its gradient back, added up where it was picked twice.
//
//   y = Gather (x, i):   dx = ai.amp.GatherGradient (shape of x, i, g)
//
// Where elements are picked in a way that has no operator of its own for the way back (Slice with steps, Pad by
// reflection), numbers of the elements take the same way, and say where each gradient belongs.
#include <numeric>

#include "absl/strings/str_cat.h"
#include "ir/base/status.h"
#include "ir/graph/constant.h"
#include "passes/train/gradient/gradient_rule.h"

namespace amp {
namespace {

constexpr int kOpsetWithScatterAdd = 16;

absl::Status CheckScatterAdd(const Backward& node) {
  if (node.opset() >= kOpsetWithScatterAdd) return absl::OkStatus();
  return Backward::Refuse(absl::StrCat("needs opset ", kOpsetWithScatterAdd, ", the model imports ", node.opset()));
}

// Rows of a table: the first axis of the result is the one that was picked from.
constexpr AmpFunction kGatherGradient = {"GatherGradient", R"(
<domain: "ai.amp", opset_import: ["" : 16]>
GatherGradient <to> (shape, indices, g) => (dx) {
  g_float = Cast <to: int = @to> (g)
  zero = Constant <value_float = 0.0> ()
  zero_of_type = Cast <to: int = @to> (zero)
  zeros = Expand (zero_of_type, shape)
  last = Constant <value_ints = [-1]> ()
  whole = Cast <to = 7> (indices)
  places = Unsqueeze (whole, last)
  dx = ScatterND <reduction = "add"> (zeros, places, g_float)
})"};

DType Inside(DType type) { return type == DType::kFloat64 ? type : DType::kFloat32; }

// The axes of the picked from 0 on, the others behind: [axis, ..., axis + count - 1, 0, 1, ..., axis - 1, ...].
Axes ToTheFront(int64_t axis, int64_t count, int64_t rank) {
  Axes order;
  for (int64_t i = axis; i < axis + count; ++i) order.push_back(i);
  for (int64_t i = 0; i < rank; ++i) {
    if (i < axis || i >= axis + count) order.push_back(i);
  }
  return order;
}

Axes Inverse(const Axes& permutation) {
  Axes inverse(permutation.size());
  for (size_t i = 0; i < permutation.size(); ++i)
    inverse[static_cast<size_t>(permutation[i])] = static_cast<int64_t>(i);
  return inverse;
}

absl::Status Gather(Backward& node) {
  AMP_RETURN_IF_ERROR(CheckScatterAdd(node));
  const auto rank = node.Rank(node.InputId(0)), index_rank = node.Rank(node.InputId(1));
  if (!rank || !index_rank) return Backward::Refuse("the ranks of its operands have to be known");
  const auto found = node.AxisFromFront(node.InputId(0), node.Int("axis", 0));
  if (!found.has_value()) return Backward::Refuse("its operand has no such axis");
  const int64_t axis = *found;
  const DType type = node.Input(0).dtype(), inside = Inside(type);
  Term g = node.Gradient(), shape = node.write().ShapeOf(node.InputId(0));
  const Axes order = ToTheFront(axis, 1, *rank);
  if (axis != 0) {
    g = Transpose(g, ToTheFront(axis, *index_rank, *rank - 1 + *index_rank));
    shape = node.write().Op("Gather", {shape, node.write().Integers(order)});
  }
  Term dx = node.write().Call(kGatherGradient, {shape, node.Input(1), g}, 1, inside, {{"to", inside}}).front();
  if (axis != 0) dx = Transpose(dx, Inverse(order));
  node.Give(0, Cast(dx, type));
  return absl::OkStatus();
}

absl::Status GatherElements(Backward& node) {
  AMP_RETURN_IF_ERROR(CheckScatterAdd(node));
  node.Give(
      0, node.write().Op("ScatterElements", {node.write().ZerosLike(node.InputId(0)), node.Input(1), node.Gradient()},
                         {{"axis", node.Int("axis", 0)}, {"reduction", std::string("add")}}));
  return absl::OkStatus();
}

absl::Status GatherNd(Backward& node) {
  AMP_RETURN_IF_ERROR(CheckScatterAdd(node));
  if (node.Int("batch_dims", 0) != 0) return Backward::Refuse("batch_dims has to be 0");
  node.Give(0, node.write().Op("ScatterND", {node.write().ZerosLike(node.InputId(0)), node.Input(1), node.Gradient()},
                               {{"reduction", std::string("add")}}));
  return absl::OkStatus();
}

// Elements that were written over get no gradient; with reduction "add" all get one.
absl::Status Scatter(Backward& node, absl::string_view scatter, absl::string_view gather, const NewAttributes& axis) {
  const std::string reduction = node.String("reduction", "none");
  if (reduction != "none" && reduction != "add") {
    return Backward::Refuse(absl::StrCat("reduction '", reduction, "'; expected none or add"));
  }
  const Term& g = node.Gradient();
  if (node.Wants(2)) node.Give(2, node.write().Op(gather, {g, node.Input(1)}, axis));
  if (!node.Wants(0)) return absl::OkStatus();
  node.Give(0, reduction == "add"
                   ? g
                   : node.write().Op(scatter, {g, node.Input(1), node.write().ZerosLike(node.InputId(2))}, axis));
  return absl::OkStatus();
}
absl::Status ScatterElements(Backward& node) {
  return Scatter(node, "ScatterElements", "GatherElements", {{"axis", node.Int("axis", 0)}});
}
absl::Status ScatterNd(Backward& node) { return Scatter(node, "ScatterND", "GatherND", {}); }

// Values of the largest: back to where they were found.
absl::Status TopK(Backward& node) {
  if (node.OutputId(1) == kNone) return Backward::Refuse("its output of indices has to be there");
  node.Give(
      0, node.write().Op("ScatterElements", {node.write().ZerosLike(node.InputId(0)), node.Output(1), node.Gradient()},
                         {{"axis", node.Int("axis", -1)}}));
  return absl::OkStatus();
}

// 0, 1, 2 ... in the shape of input 0.
Term Numbers(Backward& node) {
  TermWriter& write = node.write();
  const Term size = write.OpAs(DType::kInt64, "Size", {node.Input(0)});
  const Term numbers = write.Op("Range", {write.Integer(0), size, write.Integer(1)});
  return Reshape(numbers, write.ShapeOf(node.InputId(0)));
}

// `places`: for every element of the result, the number of the one that it is.
void GiveToPlaces(Backward& node, const Term& places, bool may_repeat) {
  TermWriter& write = node.write();
  const Term all = write.Integers({-1});
  const Term zeros = Reshape(write.ZerosLike(node.InputId(0)), all);
  NewAttributes attributes = {{"axis", int64_t{0}}};
  if (may_repeat) attributes.emplace_back("reduction", std::string("add"));
  const Term flat =
      write.Op("ScatterElements", {zeros, Reshape(places, all), Reshape(node.Gradient(), all)}, attributes);
  node.Give(0, ReshapeLike(flat, node.InputId(0)));
}

constexpr int64_t kMostAxes = 64;

std::optional<Axes> ConstantAxes(const Backward& node, size_t port) {
  const auto elements = ConstantElements(node.model(), node.InputId(port), kMostAxes);
  if (!elements.has_value()) return std::nullopt;
  Axes values;
  for (const double element : *elements) values.push_back(static_cast<int64_t>(std::clamp(element, -9e15, 9e15)));
  return values;
}

// Returns the elements that a slice with steps of one leaves off, at both ends of every axis, in Pad's order; nothing
// if unknown.
std::optional<Axes> LeftOff(const Backward& node) {
  const auto shape = node.Shape(node.InputId(0)), result = node.Shape(node.OutputId());
  const auto starts = ConstantAxes(node, 1);
  auto axes = node.HasInput(3) ? ConstantAxes(node, 3) : std::optional<Axes>(Axes());
  const auto steps = node.HasInput(4) ? ConstantAxes(node, 4) : std::optional<Axes>(Axes());
  if (!shape || !result || !starts || !axes || !steps || shape->size() != result->size()) return std::nullopt;
  if (std::any_of(steps->begin(), steps->end(), [](int64_t step) { return step != 1; })) return std::nullopt;
  if (!node.HasInput(3)) {
    axes->resize(starts->size());
    std::iota(axes->begin(), axes->end(), 0);
  }
  axes = node.AxesFromFront(node.InputId(0), *axes);
  if (!axes.has_value() || axes->size() != starts->size()) return std::nullopt;
  Axes pads(2 * shape->size(), 0);
  for (size_t i = 0; i < axes->size(); ++i) {
    const auto axis = static_cast<size_t>((*axes)[i]);
    const int64_t size = (*shape)[axis], left = (*result)[axis];
    if (size == kUnknownDim || left == kUnknownDim) return std::nullopt;
    const int64_t start = (*starts)[i] < 0 ? (*starts)[i] + size : (*starts)[i];
    pads[axis] = std::clamp<int64_t>(start, 0, size);
    pads[axis + shape->size()] = size - left - pads[axis];
    if (pads[axis + shape->size()] < 0) return std::nullopt;
  }
  return pads;
}

absl::Status OfSlice(Backward& node) {
  if (const auto left_off = LeftOff(node)) {
    node.Give(0, node.write().Op("Pad", {node.Gradient(), node.write().Integers(*left_off)}));
    return absl::OkStatus();
  }
  std::vector<Term> operands = {Numbers(node)};
  for (size_t port = 1; port < node.num_inputs(); ++port) operands.push_back(node.Input(port));
  GiveToPlaces(node, node.write().Op("Slice", operands), false);
  return absl::OkStatus();
}

// Negative pads are a crop: the way back of adding is taking away, and the other way round.
absl::Status ConstantPad(Backward& node) {
  std::vector<Term> operands = {node.Gradient(), node.write().Op("Neg", {node.Input(1)})};
  if (const auto pads = ConstantAxes(node, 1)) {
    const size_t count = pads->size() / 2;
    const auto rank = node.Rank(node.InputId(0));
    const auto axes = node.HasInput(3)   ? ConstantAxes(node, 3)
                      : rank.has_value() ? std::optional<Axes>(Axes(count))
                                         : std::nullopt;
    const bool only_adds = std::all_of(pads->begin(), pads->end(), [](int64_t pad) { return pad >= 0; });
    if (only_adds && axes.has_value()) {
      Axes where = *axes, starts(pads->begin(), pads->begin() + static_cast<int64_t>(count)), ends;
      if (!node.HasInput(3)) std::iota(where.begin(), where.end(), 0);
      for (size_t i = 0; i < count; ++i) {
        const int64_t behind = (*pads)[count + i];
        ends.push_back(behind == 0 ? std::numeric_limits<int64_t>::max() : -behind);
      }
      node.Give(0, Slice(node.Gradient(), starts, ends, where));
      return absl::OkStatus();
    }
    Axes negative = *pads;
    for (int64_t& pad : negative) pad = -pad;
    operands[1] = node.write().Integers(negative);
  }
  if (node.HasInput(3)) {
    operands.emplace_back();
    operands.push_back(node.Input(3));
  }
  node.Give(0, node.write().Op("Pad", operands));
  return absl::OkStatus();
}

absl::Status Pad(Backward& node) {
  const std::string mode = node.String("mode", "constant");
  if (mode == "constant") return ConstantPad(node);
  AMP_RETURN_IF_ERROR(CheckScatterAdd(node));
  std::vector<Term> operands = {Numbers(node), node.Input(1)};
  if (node.HasInput(3)) {
    operands.emplace_back();
    operands.push_back(node.Input(3));
  }
  GiveToPlaces(node, node.write().Op("Pad", operands, {{"mode", mode}}), true);
  return absl::OkStatus();
}

// The nearest element of every place: numbers go through the same Resize, as float64, which counts exactly far enough.
absl::Status Resize(Backward& node) {
  if (node.String("mode", "nearest") != "nearest") {
    return Backward::Refuse(absl::StrCat("mode '", node.String("mode", "nearest"), "'; expected nearest"));
  }
  if (node.String("coordinate_transformation_mode", "half_pixel") == "tf_crop_and_resize") {
    return Backward::Refuse("coordinate_transformation_mode tf_crop_and_resize may leave the image");
  }
  AMP_RETURN_IF_ERROR(CheckScatterAdd(node));
  std::vector<Term> operands = {Cast(Numbers(node), DType::kFloat64)};
  for (size_t port = 1; port < node.num_inputs(); ++port) {
    operands.push_back(port == 1 ? Term() : node.Input(port));
  }
  NewAttributes attributes;
  for (const absl::string_view name :
       {"coordinate_transformation_mode", "mode", "nearest_mode", "keep_aspect_ratio_policy"}) {
    if (HasAttribute(node.node(), name)) attributes.emplace_back(name, node.String(name, ""));
  }
  if (const auto axes = node.Ints("axes")) attributes.emplace_back("axes", *axes);
  GiveToPlaces(node, Cast(node.write().Op("Resize", operands, attributes), DType::kInt64), true);
  return absl::OkStatus();
}

constexpr GradientRule kRules[] = {
    {"Gather", Gather, Port(1)},       {"GatherElements", GatherElements, Port(1)},
    {"GatherND", GatherNd, Port(1)},   {"Pad", Pad, PortsFrom(1)},
    {"Resize", Resize, PortsFrom(1)},  {"ScatterElements", ScatterElements, Port(1)},
    {"ScatterND", ScatterNd, Port(1)}, {"Slice", OfSlice, PortsFrom(1)},
    {"TopK", TopK, Port(1)},
};

}  // namespace

absl::Span<const GradientRule> IndexRules() { return kRules; }

}  // namespace amp
