// Steps that change what an attribute means, or take other operators to say the same.
//
// Two of them rest on what ONNX's text leaves out. Upsample and Resize before version 11 count pixels from the corner
// (asymmetric), take the pixel below when they enlarge and the one above when they shrink (ONNX's own test data of that
// time show both). Softmax before version 13 is that of a matrix: all dimensions from `axis` on are one row.
#include <algorithm>

#include "ir/attributes.h"
#include "ir/opset_steps.h"
#include "onnx/onnx_pb.h"

namespace amp {
namespace {

const onnx::TensorShapeProto* ShapeOf(const Model& model, ValueId id) {
  const onnx::TypeProto* type = model.value(id).type;
  return type != nullptr && type->has_tensor_type() && type->tensor_type().has_shape() ? &type->tensor_type().shape()
                                                                                       : nullptr;
}

// The one dimension that a row of the coerced matrix runs along, as an axis of the tensor itself; nothing where several
// dimensions may be longer than 1.
std::optional<int64_t> AxisOfRow(const Model& model, ValueId input, int64_t axis) {
  constexpr int64_t kLast = -1;
  if (axis == kLast) return kLast;
  const onnx::TensorShapeProto* shape = ShapeOf(model, input);
  if (shape == nullptr) return std::nullopt;
  const int rank = shape->dim_size();
  const int64_t first = axis < 0 ? axis + rank : axis;
  if (first < 0 || first >= rank) return std::nullopt;
  int64_t along = kLast;
  for (int i = static_cast<int>(first); i < rank; ++i) {
    if (shape->dim(i).has_dim_value() && shape->dim(i).dim_value() == 1) continue;
    if (along != kLast) return std::nullopt;
    along = i;
  }
  return along == rank - 1 ? kLast : along;
}

// Lets `replacement`, computed from `value`, take over its name, its graph outputs and all its other readers.
void PutBehind(Model& model, ValueId value, ValueId replacement) {
  const NodeId reader = model.value(replacement).producer;
  model.CopyType(value, replacement);
  model.ReplaceUses(value, replacement, [reader](const Use& use) { return use.node != reader; });
  const std::string rows = NameFor(model, model.value(value).producer, "rows");
  model.TakeOverGraphOutputs(value, replacement, rows);
  onnx::TypeProto type;  // the shape that was known is the replacement's
  type.mutable_tensor_type()->set_elem_type(static_cast<int32_t>(model.value(value).dtype));
  if (model.value(value).is_tensor) model.SetType(value, type);
}

void SetResizeModes(Model& model, NodeId node, absl::string_view nearest_mode) {
  SetString(model, node, "coordinate_transformation_mode", "asymmetric");
  if (!nearest_mode.empty()) SetString(model, node, "nearest_mode", nearest_mode);
}

}  // namespace

void BatchNormalizationDropSpatial(Model& model, NodeId node) { RemoveAttribute(model, node, "spatial"); }

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

void ResizeDropScalesBesideSizes(Model& model, NodeId node) {
  constexpr size_t kScales = 2, kSizes = 3;
  const auto& inputs = model.node(node).inputs;
  if (inputs.size() > kSizes && inputs[kSizes] != kNone) model.SetInput(node, kScales, kNone);
}

void ResizeNameOldCoordinates(Model& model, NodeId node) {
  const ValueId data = model.node(node).inputs[0], scales = model.node(node).inputs[1];
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
  const ValueId shrunk = InsertBefore(model, node, "Resize", {data, model.node(node).inputs[1], shrink});
  SetString(model, model.value(shrunk).producer, "mode", "nearest");
  SetResizeModes(model, model.value(shrunk).producer, "ceil");
  model.SetInput(node, 0, shrunk);
  model.SetInput(node, 2, grow);
  SetResizeModes(model, node, "floor");
}

void RoiAlignNameOldCoordinates(Model& model, NodeId node) {
  SetString(model, node, "coordinate_transformation_mode", "output_half_pixel");
}

void ScatterToScatterElements(Model& model, NodeId node) { model.EditProto(node).set_op_type("ScatterElements"); }

void SoftmaxUncoerce(Model& model, NodeId node) {
  const int64_t axis = GetInt(model.node(node), "axis", 1);
  const ValueId input = model.node(node).inputs[0];
  const std::optional<int64_t> along = AxisOfRow(model, input, axis);
  SetInt(model, node, "axis", along.value_or(-1));
  if (along) return;
  const ValueId rows = InsertBefore(model, node, "Flatten", {input});
  SetInt(model, model.value(rows).producer, "axis", axis);
  const ValueId shape = InsertBefore(model, node, "Shape", {input});
  model.SetInput(node, 0, rows);
  const ValueId output = model.node(node).outputs[0];
  PutBehind(model, output, InsertBehind(model, node, "Reshape", {output, shape}));
}

void SplitCountOutputs(Model& model, NodeId node) {
  const auto& inputs = model.node(node).inputs;
  if (inputs.size() > 1 && inputs[1] != kNone) return;
  model.TruncateInputs(node, 1);
  SetInt(model, node, "num_outputs", static_cast<int64_t>(model.node(node).outputs.size()));
}

void UpsampleToResize(Model& model, NodeId node) { model.EditProto(node).set_op_type("Resize"); }

}  // namespace amp
