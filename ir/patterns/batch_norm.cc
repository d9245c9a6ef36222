#include "ir/patterns/batch_norm.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ir/base/status.h"
#include "ir/graph/attributes.h"
#include "ir/graph/constant.h"
#include "ir/graph/shape.h"
#include "ir/operators/operator_facts.h"
#include "ir/schema/schema.h"
#include "onnx/onnx_pb.h"

namespace amp {
namespace {

constexpr size_t kFirstStatistic = 1, kNumInputs = 5;
constexpr size_t kChannelAxis = 1;
constexpr int kNumpyBroadcasting = 7;  // the first opset at which Mul and Add have it

int64_t NumChannels(const Model& model, NodeId node) {
  return ShapeOf(model, model.node(node).Input(kFirstStatistic))->front();
}

Reason ObstacleInConstant(const Model& model, ValueId id) {
  const Value& value = model.value(id);
  if (value.is_constant_default && !model.IsConstant(id)) {
    return absl::StrCat("callers may override '", Escaped(value.name),
                        "'; --freeze-initializers makes a constant of it");
  }
  if (!model.IsConstant(id)) return absl::StrCat("'", Escaped(value.name), "' is no constant");
  if (value.dtype != DType::kFloat32) return absl::StrCat("'", Escaped(value.name), "' is not float32");
  const auto shape = ShapeOf(model, id);
  if (!shape || shape->size() != 1)
    return absl::StrCat("'", Escaped(value.name), "' does not have one element per channel");
  return Reason::None();
}

}  // namespace

bool IsInferenceNorm(const Model& model, NodeId id) {
  const Node& node = model.node(id);
  if (node.schema == nullptr || model.IsCallOfFunction(id) || !TakesStatistics(node)) return false;
  if (GetInt(node, "training_mode", 0) != 0 || model.proto().training_info_size() > 0) return false;
  return model.value(node.Input(0)).dtype == DType::kFloat32;
}

bool HasOverridableStatistics(const Model& model, NodeId id) {
  for (size_t port = kFirstStatistic; port < kNumInputs; ++port) {
    const ValueId value = model.node(id).Input(port);
    if (model.value(value).IsInitializer() && !model.IsConstant(value)) return true;
  }
  return false;
}

Reason ObstacleToScaleAndShift(const Model& model, NodeId id) {
  const Node& node = model.node(id);
  if (model.opset("") < kNumpyBroadcasting) {
    return absl::StrCat("opset ", model.opset(""), " is too old, expected ", kNumpyBroadcasting, " or newer");
  }
  if (node.graph != kMainGraph && model.ir_version() < kInitializersNeedNoInput) {
    return "it is in a body, which has no constants of its own before IR version 4";
  }
  if (node.inputs.size() != kNumInputs || GetInt(node, "spatial", 1) == 0) return "its statistics are not per channel";
  for (size_t port = kFirstStatistic; port < kNumInputs; ++port) {
    if (Reason why = ObstacleInConstant(model, node.Input(port))) return why;
  }
  const int64_t channels = NumChannels(model, id);
  for (size_t port = kFirstStatistic; port < kNumInputs; ++port) {
    const auto shape = ShapeOf(model, node.Input(port));
    if (shape->front() != channels || channels <= 0) return "its statistics differ in size";
  }
  const auto shape = ShapeOf(model, node.Input(0));
  if (!shape || shape->size() <= kChannelAxis) return "the rank of its input is not known";
  const int64_t wanted = (*shape)[kChannelAxis];
  if (wanted != kUnknownDim && wanted != channels) return "its statistics do not fit the channels of its input";
  return Reason::None();
}

std::optional<ScaleAndShift> ReadScaleAndShift(const Model& model, NodeId id) {
  const Node& node = model.node(id);
  constexpr int64_t kAny = std::numeric_limits<int64_t>::max();
  const auto scale = ConstantElements(model, node.Input(1), kAny), shift = ConstantElements(model, node.Input(2), kAny);
  const auto mean = ConstantElements(model, node.Input(3), kAny),
             variance = ConstantElements(model, node.Input(4), kAny);
  if (!scale || !shift || !mean || !variance) return std::nullopt;
  const double epsilon = GetFloat(node, "epsilon", 1e-5f);
  ScaleAndShift formula;
  for (size_t i = 0; i < scale->size(); ++i) {
    formula.factor.push_back((*scale)[i] / std::sqrt((*variance)[i] + epsilon));
    formula.addend.push_back((*shift)[i] - (*mean)[i] * formula.factor.back());
    if (!std::isfinite(formula.factor.back()) || !std::isfinite(formula.addend.back())) return std::nullopt;
  }
  return formula;
}

const OpSchema& SchemaOfScaleAndShift(const Model& model) {
  return *FindOpSchema("", "Mul", std::max(model.opset(""), kNumpyBroadcasting));
}

}  // namespace amp
