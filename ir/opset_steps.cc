// The table, the conditions of its rows, and the constants that edits add.
//
// A row without an edit says: read, compared, and what the newer version added has a default that keeps the old
// meaning. Steps that only widen type lists have no row; the driver sees them in the schemas.
#include "ir/opset_steps.h"

#include <cstring>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "google/protobuf/arena.h"
#include "ir/attributes.h"
#include "ir/check.h"
#include "ir/convert.h"
#include "onnx/onnx_pb.h"

namespace amp {
namespace {

// Up to opset 13 more than one output asks for training, whose saved statistics no newer version has.
std::string NotTraining(const Model& model, NodeId id) {
  return model.node(id).outputs.size() > 1 ? "its training form has no equivalent" : "";
}

std::string IsSpatial(const Model& model, NodeId id) {
  if (GetInt(model.node(id), "spatial", 1) == 0) return "statistics per element (spatial = 0) have no equivalent";
  return NotTraining(model, id);
}

// The mask was of the data's type up to version 7, and unspecified outside training up to 10; now it is all true.
std::string MaskIsUnused(const Model& model, NodeId id) {
  const Node& node = model.node(id);
  const bool used = node.outputs.size() > 1 && node.outputs[1] != kNone && !model.value(node.outputs[1]).uses.empty();
  return used ? "its mask changes meaning" : "";
}

// The extents of the spatial dimensions of [N, C, D1, D2 ...], kNone where not known.
std::vector<int64_t> SpatialExtents(const Model& model, ValueId id, size_t count) {
  std::vector<int64_t> extents(count, kNone);
  const onnx::TypeProto* type = model.value(id).type;
  if (type == nullptr || !type->has_tensor_type()) return extents;
  const auto& shape = type->tensor_type().shape();
  for (size_t i = 0; i < count && static_cast<int>(i) + 2 < shape.dim_size(); ++i) {
    const auto& dim = shape.dim(static_cast<int>(i) + 2);
    if (dim.has_dim_value()) extents[i] = dim.dim_value();
  }
  return extents;
}

// With ceil_mode, version 22 leaves out windows that would start behind the data, in the padding on the right. There is
// none where `pad_end + stride <= window`; else the extent of the data decides.
std::string NoWindowStartsInPadding(const Model& model, NodeId id) {
  const Node& node = model.node(id);
  if (GetInt(node, "ceil_mode", 0) == 0 || GetString(node, "auto_pad", "NOTSET") != "NOTSET") return "";
  const auto kernel = GetInts(node, "kernel_shape").value_or(std::vector<int64_t>());
  const auto given = [&](absl::string_view name, size_t count, int64_t unset) {
    auto values = GetInts(node, name).value_or(std::vector<int64_t>());
    values.resize(count, unset);
    return values;
  };
  const size_t axes = kernel.size();
  const auto strides = given("strides", axes, 1), dilations = given("dilations", axes, 1);
  const auto pads = given("pads", 2 * axes, 0);
  const auto extents = SpatialExtents(model, node.inputs[0], axes);
  for (size_t i = 0; i < axes; ++i) {
    constexpr int64_t kSane = int64_t{1} << 31;
    for (int64_t x : {kernel[i], strides[i], dilations[i]}) {
      if (x < 1 || x > kSane) return "its window, strides or dilations are out of range";
    }
    for (int64_t x : {pads[i], pads[axes + i]}) {
      if (x < 0 || x > kSane) return "its pads are out of range";
    }
    const int64_t window = (kernel[i] - 1) * dilations[i] + 1;
    if (pads[axes + i] + strides[i] <= window) continue;
    const int64_t free = extents[i] + pads[i] + pads[axes + i] - window;
    const bool known = extents[i] != kNone && extents[i] < kSane && free >= 0;
    const int64_t last_start = (free + strides[i] - 1) / strides[i] * strides[i];
    if (!known || last_start >= extents[i] + pads[i]) return "with ceil_mode, a window may start in the padding";
  }
  return "";
}

// A bound or fill value that becomes an input has to have the data's type.
std::string KnowsDataType(const Model& model, NodeId id) {
  const Value& data = model.value(model.node(id).inputs[0]);
  const bool known = data.is_tensor && BitsPerElement(data.dtype) >= 16 && LargestFinite(data.dtype) > 0;
  return known ? "" : "its data is not known to be float16, float32 or float64";
}

std::string IsNotOldTensorFlowNearest(const Model& model, NodeId id) {
  const std::string mode = GetString(model.node(id), "coordinate_transformation_mode", "");
  return mode == "tf_half_pixel_for_nn" ? "tf_half_pixel_for_nn coordinates have no equivalent" : "";
}

constexpr OpsetStep kSteps[] = {
    {"ArgMax", 11, 12},
    {"ArgMin", 11, 12},
    {"Attention", 23, 24},
    {"Attention", 24, 25},
    {"AveragePool", 7, 10},
    {"AveragePool", 11, 19},
    {"AveragePool", 19, 22, nullptr, NoWindowStartsInPadding},
    {"BatchNormalization", 7, 9, BatchNormalizationDropSpatial, IsSpatial},
    {"BatchNormalization", 9, 14, nullptr, NotTraining},
    {"Cast", 13, 19},
    {"Cast", 23, 24},
    {"CastLike", 15, 19},
    {"CastLike", 23, 24},
    {"Clip", 6, 11, ClipBoundsToInputs, KnowsDataType},
    {"Constant", 9, 11},
    {"Constant", 11, 12},
    {"DFT", 17, 20, DftAxisToInput},
    {"DepthToSpace", 1, 11},
    {"DequantizeLinear", 10, 13},
    {"DequantizeLinear", 19, 21},
    {"DequantizeLinear", 21, 23},
    {"Dropout", 7, 10, DropoutMaskToBool, MaskIsUnused},
    {"Dropout", 10, 12, DropoutRatioToInput, MaskIsUnused},
    {"GRU", 7, 14},
    {"GatherND", 11, 12},
    {"Gemm", 9, 11},
    {"GridSample", 16, 20, GridSampleRenameModes},
    {"Hardmax", 11, 13, SoftmaxUncoerce},
    {"LSTM", 7, 14},
    {"LogSoftmax", 11, 13, SoftmaxUncoerce},
    {"Loop", 1, 11},
    {"LpPool", 11, 18},
    {"LpPool", 18, 22, nullptr, NoWindowStartsInPadding},
    {"MaxPool", 1, 8},
    {"MaxPool", 8, 10},
    {"MaxPool", 12, 22, nullptr, NoWindowStartsInPadding},
    {"MeanVarianceNormalization", 9, 13, MeanVarianceWriteAxes},
    {"OptionalHasElement", 15, 18},
    {"Pad", 2, 11, PadsToInputs, KnowsDataType},
    {"Pad", 13, 18},
    {"QuantizeLinear", 10, 13},
    {"QuantizeLinear", 13, 19},
    {"QuantizeLinear", 19, 21},
    {"QuantizeLinear", 21, 23},
    {"RNN", 7, 14},
    {"ReduceL1", 13, 18, AxesToInput},
    {"ReduceL2", 13, 18, AxesToInput},
    {"ReduceLogSum", 13, 18, AxesToInput},
    {"ReduceLogSumExp", 13, 18, AxesToInput},
    {"ReduceMax", 13, 18, AxesToInput},
    {"ReduceMean", 13, 18, AxesToInput},
    {"ReduceMin", 13, 18, AxesToInput},
    {"ReduceProd", 13, 18, AxesToInput},
    {"ReduceSum", 11, 13, AxesToInput},
    {"ReduceSumSquare", 13, 18, AxesToInput},
    {"Reshape", 13, 14},
    {"Resize", 10, 11, ResizeNameOldCoordinates},
    {"Resize", 11, 13, ResizeDropScalesBesideSizes, IsNotOldTensorFlowNearest},
    {"Resize", 13, 18},
    {"RoiAlign", 10, 16, RoiAlignNameOldCoordinates},
    {"Scatter", 9, 11, ScatterToScatterElements, nullptr, "ScatterElements"},
    {"ScatterElements", 13, 16},
    {"ScatterND", 13, 16},
    {"Shape", 13, 15},
    {"Slice", 1, 10, SliceRangesToInputs},
    {"Softmax", 11, 13, SoftmaxUncoerce},
    {"Split", 11, 13, SplitToInput},
    {"Split", 13, 18, SplitCountOutputs},
    {"Squeeze", 11, 13, AxesToInput},
    {"TopK", 1, 10, TopKToInput},
    {"TopK", 10, 11},
    {"Unsqueeze", 11, 13, AxesToInput},
    {"Upsample", 7, 9, UpsampleScalesToInput},
    {"Upsample", 9, 10, UpsampleToResize, nullptr, "Resize"},
};

onnx::TensorProto* NewTensor(Model& model, onnx::TensorProto::DataType type) {
  auto* tensor = google::protobuf::Arena::CreateMessage<onnx::TensorProto>(model.arena());
  tensor->set_data_type(type);
  return tensor;
}

ValueId AddInitializerFor(Model& model, NodeId node, absl::string_view suffix, onnx::TensorProto* tensor) {
  return model.AddInitializer(model.node(node).graph, NameFor(model, node, suffix), tensor);
}

ValueId Insert(Model& model, NodeId owner, NodeId anchor, absl::string_view op_type, std::vector<ValueId> inputs) {
  const std::string name = NameFor(model, owner, absl::AsciiStrToLower(op_type));
  const NodeId inserted =
      model.InsertAfter(model.node(owner).graph, anchor,
                        {.op_type = op_type, .name = name, .inputs = std::move(inputs), .outputs = {name}});
  return model.node(inserted).outputs[0];
}

}  // namespace

absl::Span<const OpsetStep> OpsetSteps() { return kSteps; }

std::string NameFor(Model& model, NodeId id, absl::string_view suffix) {
  const Node& node = model.node(id);
  for (ValueId output : node.outputs) {
    if (output != kNone) return model.UniqueName(absl::StrCat(model.value(output).name, "_", suffix));
  }
  return model.UniqueName(suffix);
}

ValueId AddInts(Model& model, NodeId node, absl::string_view suffix, absl::Span<const int64_t> values) {
  onnx::TensorProto* tensor = NewTensor(model, onnx::TensorProto::INT64);
  tensor->add_dims(static_cast<int64_t>(values.size()));
  for (int64_t value : values) tensor->add_int64_data(value);
  return AddInitializerFor(model, node, suffix, tensor);
}

ValueId AddIntScalar(Model& model, NodeId node, absl::string_view suffix, int64_t value) {
  onnx::TensorProto* tensor = NewTensor(model, onnx::TensorProto::INT64);
  tensor->add_int64_data(value);
  return AddInitializerFor(model, node, suffix, tensor);
}

ValueId AddFloats(Model& model, NodeId node, absl::string_view suffix, absl::Span<const float> values) {
  onnx::TensorProto* tensor = NewTensor(model, onnx::TensorProto::FLOAT);
  tensor->add_dims(static_cast<int64_t>(values.size()));
  for (float value : values) tensor->add_float_data(value);
  return AddInitializerFor(model, node, suffix, tensor);
}

ValueId AddFloatScalar(Model& model, NodeId node, absl::string_view suffix, float value, DType type) {
  if (type == DType::kFloat64) {
    onnx::TensorProto* tensor = NewTensor(model, onnx::TensorProto::DOUBLE);
    tensor->add_double_data(static_cast<double>(value));
    return AddInitializerFor(model, node, suffix, tensor);
  }
  onnx::TensorProto* tensor = NewTensor(model, static_cast<onnx::TensorProto::DataType>(type));
  if (type == DType::kFloat32) {
    tensor->add_float_data(value);
  } else {
    AMP_CHECK(IsLowFloat(type));
    tensor->add_int32_data(NarrowOne(value, type));
  }
  return AddInitializerFor(model, node, suffix, tensor);
}

std::optional<std::vector<float>> ConstantFloats(const Model& model, ValueId id) {
  if (id == kNone || !model.IsConstant(id)) return std::nullopt;
  const Value& value = model.value(id);
  const onnx::TensorProto* tensor =
      value.IsInitializer() ? value.initializer : GetTensor(model.node(value.producer), "value");
  if (tensor == nullptr || tensor->data_type() != onnx::TensorProto::FLOAT) return std::nullopt;
  if (tensor->data_location() == onnx::TensorProto::EXTERNAL) return std::nullopt;
  if (!tensor->has_raw_data()) return std::vector<float>(tensor->float_data().begin(), tensor->float_data().end());
  std::vector<float> floats(tensor->raw_data().size() / sizeof(float));
  std::memcpy(floats.data(), tensor->raw_data().data(), floats.size() * sizeof(float));
  return floats;
}

void SetOrAppendInput(Model& model, NodeId node, int port, ValueId value) {
  while (static_cast<int>(model.node(node).inputs.size()) <= port) model.AppendInput(node, kNone);
  model.SetInput(node, port, value);
}

ValueId InsertBefore(Model& model, NodeId node, absl::string_view op_type, std::vector<ValueId> inputs) {
  return Insert(model, node, model.node(node).prev, op_type, std::move(inputs));
}

ValueId InsertBehind(Model& model, NodeId node, absl::string_view op_type, std::vector<ValueId> inputs) {
  return Insert(model, node, node, op_type, std::move(inputs));
}

}  // namespace amp
