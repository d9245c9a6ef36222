// Steps of the years before opset 8, when operators broadcast by attributes and types had names.
//
//   opset 6:  c = Add <broadcast = 1, axis = 1> (a, b)    opset 7:  b4 = Unsqueeze <axes = [1, 2]> (b)
//                                                                   c = Add (a, b4)
//   opset 1:  y = Cast <to = "INT64"> (x)                 opset 6:  y = Cast <to = 7> (x)
//
// No runtime of today runs most of the old forms; what they mean is what ONNX's text of their version says. Where that
// text leaves two readings, the step is refused.
#include <cmath>
#include <numeric>

#include "ir/graph/attributes.h"
#include "ir/graph/shape.h"
#include "ir/opset/opset_steps.h"
#include "onnx/onnx_pb.h"

namespace amp {
namespace {

std::optional<int64_t> RankOf(const Model& model, ValueId id) {
  const auto shape = ShapeOf(model, id);
  return shape ? std::optional(static_cast<int64_t>(shape->size())) : std::nullopt;
}

// How many dimensions of extent 1 behind its own let the second operand line up with the first one from `axis` on;
// nothing where that cannot be known.
std::optional<int64_t> OnesBehind(const Model& model, const Node& node) {
  const auto axis = GetInt(node, "axis");
  if (GetInt(node, "broadcast", 0) == 0 || !axis) return 0;  // equal shapes, or the last dimensions
  if (NumElements(model, node.Input(1)) == 1) return 0;
  const auto rank = RankOf(model, node.Input(0)), own = RankOf(model, node.Input(1));
  if (!rank || !own) return std::nullopt;
  const int64_t first = *axis < 0 ? *axis + *rank : *axis;
  const int64_t ones = *rank - first - *own;
  return first < 0 || ones < 0 ? std::nullopt : std::optional(ones);
}

// Appends `count` dimensions of extent 1 to what the node's input `port`, of `rank` dimensions, reads.
void UnsqueezeBehind(Model& model, NodeId node, size_t port, int64_t rank, int64_t count) {
  const ValueId operand = model.node(node).inputs[port];
  const ValueId aligned = InsertBefore(model, node, "Unsqueeze", {operand});
  std::vector<int64_t> axes(static_cast<size_t>(count));
  std::iota(axes.begin(), axes.end(), rank);
  SetInts(model, model.value(aligned).producer, "axes", axes);
  model.SetInput(node, port, aligned);
}

// Dimensions of extent 1 that a slope per channel lacks behind it; nothing where that cannot be known.
std::optional<int64_t> OnesBehindSlope(const Model& model, const Node& node) {
  const auto slope = ShapeOf(model, node.Input(1));
  if (slope && NumElements(model, node.Input(1)) == 1) return 0;
  if (slope && slope->size() != 1) return 0;
  const auto rank = RankOf(model, node.Input(0));
  if (!slope || !rank) return std::nullopt;
  return std::max<int64_t>(*rank - 2, 0);
}

// A constant operand of one element that counts something.
std::optional<int64_t> ConstantCount(const Model& model, ValueId id) {
  const auto floats = ConstantFloats(model, id);
  if (!floats || floats->size() != 1) return std::nullopt;
  const float count = floats->front();
  constexpr float kMost = 1 << 24;
  return count >= 0 && count <= kMost && count == std::floor(count) ? std::optional(static_cast<int64_t>(count))
                                                                    : std::nullopt;
}

std::optional<std::vector<int64_t>> ConstantLengths(const Model& model, ValueId id) {
  const auto floats = ConstantFloats(model, id);
  if (!floats) return std::nullopt;
  std::vector<int64_t> lengths;
  for (float length : *floats) {
    if (!(length >= 0 && length < 0x1p31f) || length != std::floor(length)) return std::nullopt;
    lengths.push_back(static_cast<int64_t>(length));
  }
  return lengths;
}

}  // namespace

void DropConsumedInputs(Model& model, NodeId node) { RemoveAttribute(model, node, "consumed_inputs"); }

void DropOutputSequence(Model& model, NodeId node) { RemoveAttribute(model, node, "output_sequence"); }

void DropBroadcast(Model& model, NodeId node) { RemoveAttribute(model, node, "broadcast"); }

Reason KnowsBroadcastAxes(const Model& model, NodeId node) {
  return OnesBehind(model, model.node(node)) ? Reason::None()
                                             : "the ranks that its attribute axis refers to are not known";
}

void BroadcastByShape(Model& model, NodeId node) {
  if (const int64_t ones = OnesBehind(model, model.node(node)).value_or(0); ones > 0) {
    UnsqueezeBehind(model, node, 1, *RankOf(model, model.node(node).Input(1)), ones);
  }
  RemoveAttribute(model, node, "broadcast");
  RemoveAttribute(model, node, "axis");
}

Reason KnowsSlopeAxes(const Model& model, NodeId node) {
  return OnesBehindSlope(model, model.node(node)) ? Reason::None() : "whether its slope is per channel is not known";
}

void PReluSlopeByShape(Model& model, NodeId node) {
  const int64_t ones = OnesBehindSlope(model, model.node(node)).value_or(0);
  if (ones > 0) UnsqueezeBehind(model, node, 1, 1, ones);
}

Reason NamesType(const Model& model, NodeId node) {
  onnx::TensorProto::DataType type;
  const std::string name = GetString(model.node(node), "to", "");
  return onnx::TensorProto::DataType_Parse(name, &type) ? Reason::None() : "its attribute to names no type";
}

void CastNameToNumber(Model& model, NodeId node) {
  onnx::TensorProto::DataType type = onnx::TensorProto::UNDEFINED;
  onnx::TensorProto::DataType_Parse(GetString(model.node(node), "to", ""), &type);
  SetInt(model, node, "to", type);
}

void ConcatWriteAxis(Model& model, NodeId node) {
  constexpr int64_t kOldDefault = 1;
  if (!HasAttribute(model.node(node), "axis")) SetInt(model, node, "axis", kOldDefault);
}

// "is_test" is 0 when absent, and so many files of that time leave it out by mistake; ONNX's own converter refuses
// them.
Reason DropoutTests(const Model& model, NodeId node) {
  return GetInt(model.node(node), "is_test", 0) != 0 ? Reason::None()
                                                     : "its training form (is_test = 0) has no equivalent";
}

void DropoutDropIsTest(Model& model, NodeId node) { RemoveAttribute(model, node, "is_test"); }

void GruSpellDirection(Model& model, NodeId node) {
  // Version 1 misspells its own default.
  if (GetString(model.node(node), "direction", "") == "foward") SetString(model, node, "direction", "forward");
}

Reason NormIsWhole(const Model& model, NodeId id) {
  constexpr float kMost = 1 << 24;
  const Node& node = model.node(id);
  const float p = GetFloat(node, "p", 2);
  if (!(p >= 1 && p <= kMost) || p != std::floor(p)) return "its attribute p is no whole number";
  const bool pools_all = node.op_type() == "GlobalLpPool";
  return pools_all || GetInts(node, "kernel_shape") ? Reason::None() : "it has no attribute kernel_shape";
}

void LpPoolWholeNorm(Model& model, NodeId node) {
  const auto p = GetFloat(model.node(node), "p");
  if (p) SetInt(model, node, "p", static_cast<int64_t>(*p));
}

void PadRenamePaddings(Model& model, NodeId node) {
  SetInts(model, node, "pads", GetInts(model.node(node), "paddings").value_or(std::vector<int64_t>()));
  RemoveAttribute(model, node, "paddings");
}

Reason HasShape(const Model& model, NodeId node) {
  return GetInts(model.node(node), "shape") ? Reason::None() : "it has no attribute shape";
}

void ReshapeShapeToInput(Model& model, NodeId node) {
  DropConsumedInputs(model, node);
  SetOrAppendInput(model, node, 1, AddInts(model, node, "shape", GetInts(model.node(node), "shape").value()));
  RemoveAttribute(model, node, "shape");
}

void SeluWriteDefaults(Model& model, NodeId node) {
  DropConsumedInputs(model, node);
  SetFloat(model, node, "alpha", GetFloat(model.node(node), "alpha", 1.6732F));
  SetFloat(model, node, "gamma", GetFloat(model.node(node), "gamma", 1.0507F));
}

Reason SplitIsConstant(const Model& model, NodeId id) {
  const Node& node = model.node(id);
  if (!GetInt(node, "axis")) return "it has no attribute axis, and version 1 names no default";
  if (node.Input(1) == kNone) return Reason::None();
  if (GetInts(node, "split")) return "its lengths are given twice";
  return ConstantLengths(model, node.Input(1)) ? Reason::None() : "its lengths are no constants";
}

void SplitLengthsToAttribute(Model& model, NodeId node) {
  if (model.node(node).Input(1) != kNone)
    SetInts(model, node, "split", *ConstantLengths(model, model.node(node).Input(1)));
  model.TruncateInputs(node, 1);
}

Reason TileIsConstant(const Model& model, NodeId id) {
  const auto rank = RankOf(model, model.node(id).Input(0));
  const auto axis = ConstantCount(model, model.node(id).Input(2));
  if (!ConstantCount(model, model.node(id).Input(1)) || !axis) return "its tiles or its axis are no constants";
  return rank && *axis < *rank ? Reason::None() : "its rank is not known";
}

void TileRepeatsPerAxis(Model& model, NodeId node) {
  const Node& tile = model.node(node);
  std::vector<int64_t> repeats(static_cast<size_t>(*RankOf(model, tile.Input(0))), 1);
  repeats[static_cast<size_t>(*ConstantCount(model, tile.Input(2)))] = *ConstantCount(model, tile.Input(1));
  model.TruncateInputs(node, 1);
  SetOrAppendInput(model, node, 1, AddInts(model, node, "repeats", repeats));
}

void UpsampleScalesPerAxis(Model& model, NodeId node) {
  const float height = GetFloat(model.node(node), "height_scale", 1),
              width = GetFloat(model.node(node), "width_scale", 1);
  SetFloats(model, node, "scales", {1, 1, height, width});
  RemoveAttribute(model, node, "height_scale");
  RemoveAttribute(model, node, "width_scale");
  if (GetString(model.node(node), "mode", "nearest") == "bilinear") SetString(model, node, "mode", "linear");
}

}  // namespace amp
