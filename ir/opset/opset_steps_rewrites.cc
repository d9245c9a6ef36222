// Steps that change what an attribute means, or take other operators to say the same.
//
// Two of them rest on what ONNX's text leaves out. Upsample and Resize before version 11 count pixels from the corner
// (asymmetric), take the pixel below when they enlarge and the one above when they shrink (ONNX's own test data of that
// time show both). Softmax before version 13 is that of a matrix: all dimensions from `axis` on are one row.
#include <algorithm>
#include <cmath>

#include "ir/graph/attributes.h"
#include "ir/graph/shape.h"
#include "ir/opset/opset_steps.h"
#include "onnx/onnx_pb.h"

namespace amp {
namespace {

constexpr int64_t kLastAxis = -1;

// The one dimension that a row of the coerced matrix runs along, as an axis of the tensor itself; nothing where several
// dimensions may be longer than 1.
std::optional<int64_t> AxisOfRow(const Model& model, ValueId input, int64_t axis) {
  if (axis == kLastAxis) return kLastAxis;
  const auto shape = ShapeOf(model, input);
  if (!shape) return std::nullopt;
  if (std::count(shape->begin(), shape->end(), 0) > 0) return kLastAxis;  // there is nothing to compute
  const auto rank = static_cast<int64_t>(shape->size());
  const int64_t first = axis < 0 ? axis + rank : axis;
  if (first < 0 || first >= rank) return std::nullopt;
  int64_t along = kLastAxis;
  for (int64_t i = first; i < rank; ++i) {
    if ((*shape)[static_cast<size_t>(i)] == 1) continue;
    if (along != kLastAxis) return std::nullopt;
    along = i;
  }
  return along == rank - 1 ? kLastAxis : along;
}

// Whether Reshape, which copies a dimension where the shape says 0, gives a matrix of [before axis, from axis on] its
// old shape back even if a dimension of unknown extent is 0: it is when the matrix has a 0 in the same place.
bool ZerosSurviveReshape(const Model& model, ValueId input, int64_t axis) {
  const auto shape = ShapeOf(model, input);
  if (!shape) return false;
  const auto rank = static_cast<int64_t>(shape->size());
  const int64_t first = axis < 0 ? axis + rank : axis;
  for (int64_t i = 0; i < rank; ++i) {
    const bool may_be_zero = (*shape)[static_cast<size_t>(i)] == kUnknownDim;
    const bool is_copied = (i == 0 && first >= 1) || (i == 1 && first <= 1);
    if (may_be_zero && !is_copied) return false;
  }
  return true;
}

// Whether (x + 0.5) / scale stays away from whole numbers, or hits them exactly, for all x of an axis of `extent`: else
// the rounding of one formula or the other decides which pixel is taken.
bool IsClear(float scale, int64_t extent) {
  constexpr float kLargestWhole = 1024;
  constexpr int64_t kLongest = 1 << 16;
  constexpr double kRounding = 1e-6;
  if (!(scale > 0)) return false;
  if (scale == std::floor(scale) && scale <= kLargestWhole) return true;  // an odd number over an even one
  int exponent = 0;
  if (std::frexp(scale, &exponent) == 0.5F) return true;  // a power of two: exact
  if (extent < 0 || extent > kLongest || scale > kLargestWhole) return false;
  const auto length = static_cast<int64_t>(std::floor(static_cast<double>(extent) * static_cast<double>(scale)));
  for (int64_t x = 0; x < length; ++x) {
    const double numerator = static_cast<double>(x) + 0.5;
    const double position = numerator / static_cast<double>(scale), whole = std::round(position);
    const bool is_exact = whole * static_cast<double>(scale) == numerator;
    if (!is_exact && std::abs(position - whole) < kRounding * std::max(position, 1.0)) return false;
  }
  return true;
}

bool PositionsAreClear(const Model& model, const Node& node) {
  constexpr size_t kScales = 2, kSizes = 3;
  if (node.Input(kSizes) != kNone) return false;
  const auto scales = ConstantFloats(model, node.Input(kScales));
  if (!scales) return false;
  const auto shape = ShapeOf(model, node.Input(0));
  for (size_t i = 0; i < scales->size(); ++i) {
    if (!IsClear((*scales)[i], shape && i < shape->size() ? (*shape)[i] : kUnknownDim)) return false;
  }
  return true;
}

void SetResizeModes(Model& model, NodeId node, absl::string_view nearest_mode) {
  SetString(model, node, "coordinate_transformation_mode", "asymmetric");
  if (!nearest_mode.empty()) SetString(model, node, "nearest_mode", nearest_mode);
}

}  // namespace

void DropoutMaskToBool(Model& model, NodeId node) {
  const auto& outputs = model.node(node).outputs;
  if (outputs.size() > 1 && outputs[1] != kNone) model.SetTensorType(outputs[1], DType::kBool);
}

void GridSampleRenameModes(Model& model, NodeId node) {
  const std::string mode = GetString(model.node(node), "mode", "bilinear");
  if (mode == "bilinear") SetString(model, node, "mode", "linear");
  if (mode == "bicubic") SetString(model, node, "mode", "cubic");
}

void MeanVarianceWriteAxes(Model& model, NodeId node) {
  // The default stays [0, 2, 3]; but ONNX 1.23's shape inference fails on a node of version 13 that leaves it out.
  if (!HasAttribute(model.node(node), "axes")) SetInts(model, node, "axes", {0, 2, 3});
}

Reason HasNewCoordinates(const Model& model, NodeId id) {
  const Node& node = model.node(id);
  if (GetString(node, "coordinate_transformation_mode", "") != "tf_half_pixel_for_nn") return Reason::None();
  const bool floors = GetString(node, "nearest_mode", "round_prefer_floor") == "floor";
  if (!floors || GetString(node, "mode", "nearest") != "nearest") {
    return "tf_half_pixel_for_nn coordinates have an equivalent only where nearest_mode is floor";
  }
  return PositionsAreClear(model, node) ? Reason::None()
                                        : "tf_half_pixel_for_nn coordinates may fall on the edge between two pixels";
}

void ResizeDropOldChoices(Model& model, NodeId node) {
  constexpr size_t kScales = 2, kSizes = 3;
  const auto& inputs = model.node(node).inputs;
  if (inputs.size() > kSizes && inputs[kSizes] != kNone) model.SetInput(node, kScales, kNone);
  if (GetString(model.node(node), "coordinate_transformation_mode", "") != "tf_half_pixel_for_nn") return;
  // floor(x) is x - 0.5 rounded to the nearest, halves upwards.
  SetString(model, node, "coordinate_transformation_mode", "half_pixel");
  SetString(model, node, "nearest_mode", "round_prefer_ceil");
}

void ResizeNameOldCoordinates(Model& model, NodeId node) {
  const ValueId data = model.node(node).Input(0), scales = model.node(node).Input(1);
  model.SetInput(node, 1, AddFloats(model, node, "roi", {}));
  model.AppendInput(node, scales);
  if (GetString(model.node(node), "mode", "nearest") != "nearest") return SetResizeModes(model, node, "");
  const auto known = ConstantFloats(model, scales);
  const auto all = [&](auto holds) { return known && std::all_of(known->begin(), known->end(), holds); };
  if (all([](float scale) { return scale >= 1; })) return SetResizeModes(model, node, "floor");
  if (all([](float scale) { return scale <= 1; })) return SetResizeModes(model, node, "ceil");
  // Nothing is known, or some dimensions shrink and others grow: shrink first, then grow.
  const ValueId one = AddFloats(model, node, "one", {1.0f});
  const ValueId shrink = InsertBefore(model, node, "Min", {scales, one});
  const ValueId grow = InsertBefore(model, node, "Max", {scales, one});
  const ValueId shrunk = InsertBefore(model, node, "Resize", {data, model.node(node).Input(1), shrink});
  SetString(model, model.value(shrunk).producer, "mode", "nearest");
  SetResizeModes(model, model.value(shrunk).producer, "ceil");
  model.SetInput(node, 0, shrunk);
  model.SetInput(node, 2, grow);
  SetResizeModes(model, node, "floor");
}

void RoiAlignNameOldCoordinates(Model& model, NodeId node) {
  SetString(model, node, "coordinate_transformation_mode", "output_half_pixel");
}

void ScatterToScatterElements(Model& model, NodeId node) { model.SetOperator(node, "", "ScatterElements"); }

void SoftmaxUncoerce(Model& model, NodeId node) {
  const int64_t axis = GetInt(model.node(node), "axis", 1);
  const ValueId input = model.node(node).Input(0);
  const std::optional<int64_t> along = AxisOfRow(model, input, axis);
  SetInt(model, node, "axis", along.value_or(kLastAxis));
  if (along) return;
  const bool zeros_survive = ZerosSurviveReshape(model, input, axis);
  const ValueId rows = InsertBefore(model, node, "Flatten", {input});
  SetInt(model, model.value(rows).producer, "axis", axis);
  const ValueId shape = InsertBefore(model, node, "Shape", {input});
  model.SetInput(node, 0, rows);
  const ValueId output = model.node(node).Output(0);
  const ValueId reshaped = InsertBehind(model, node, "Reshape", {output, shape});
  if (!zeros_survive) SetInt(model, model.value(reshaped).producer, "allowzero", 1);
  PutBehind(model, output, reshaped);
}

int SoftmaxSettles(const Model& model, NodeId id) {
  constexpr int kOpsetWithAllowZero = 14;
  const Node& node = model.node(id);
  const int64_t axis = GetInt(node, "axis", 1);
  return AxisOfRow(model, node.Input(0), axis) || ZerosSurviveReshape(model, node.Input(0), axis) ? 0
                                                                                                  : kOpsetWithAllowZero;
}

void SplitCountOutputs(Model& model, NodeId node) {
  const auto& inputs = model.node(node).inputs;
  if (inputs.size() > 1 && inputs[1] != kNone) return;
  model.TruncateInputs(node, 1);
  SetInt(model, node, "num_outputs", static_cast<int64_t>(model.node(node).outputs.size()));
}

void UpsampleToResize(Model& model, NodeId node) { model.SetOperator(node, "", "Resize"); }

}  // namespace amp
