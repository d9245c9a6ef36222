// Steps that turn an attribute into an input: Squeeze <axes = [0]> (x) becomes Squeeze (x, axes).
//
// An empty list says the same as no list in the old forms, and is dropped.
#include <limits>
#include <numeric>

#include "ir/graph/attributes.h"
#include "ir/opset/opset_steps.h"

namespace amp {
namespace {

// Moves the attribute, where there is one with elements, to input `port`.
void IntsToInput(Model& model, NodeId node, absl::string_view attribute, size_t port) {
  const auto values = GetInts(model.node(node), attribute);
  if (values && !values->empty()) SetOrAppendInput(model, node, port, AddInts(model, node, attribute, *values));
  RemoveAttribute(model, node, attribute);
}

DType DataType(const Model& model, NodeId node) { return model.value(model.node(node).Input(0)).dtype; }

// A Clip bound. The old default, float32's largest magnitude, bounds doubles as well; for other types it is no bound.
void BoundToInput(Model& model, NodeId node, absl::string_view attribute, size_t port, float unset) {
  const DType type = DataType(model, node);
  const std::optional<float> bound = GetFloat(model.node(node), attribute);
  if (bound || type == DType::kFloat64) {
    SetOrAppendInput(model, node, port, AddFloatScalar(model, node, attribute, bound.value_or(unset), type));
  }
  RemoveAttribute(model, node, attribute);
}

}  // namespace

// The mask was of the data's type up to version 7, and unspecified outside training up to 10; now it is all true.
Reason MaskIsUnused(const Model& model, NodeId id) {
  const Node& node = model.node(id);
  const bool used = node.Output(1) != kNone && !model.value(node.Output(1)).uses.empty();
  return used ? "its mask changes meaning" : Reason::None();
}

// A bound or fill value that becomes an input has to have the data's type.
Reason KnowsDataType(const Model& model, NodeId id) {
  const Value& data = model.value(model.node(id).Input(0));
  const bool known = data.is_tensor && BitsPerElement(data.dtype) >= 16 && LargestFinite(data.dtype) > 0;
  return known ? Reason::None() : "its data is not known to be float16, float32 or float64";
}

void AxesToInput(Model& model, NodeId node) { IntsToInput(model, node, "axes", 1); }

// Without axes nothing is added; their input is not optional.
void UnsqueezeAxesToInput(Model& model, NodeId node) {
  SetOrAppendInput(model, node, 1,
                   AddInts(model, node, "axes", GetInts(model.node(node), "axes").value_or(std::vector<int64_t>())));
  RemoveAttribute(model, node, "axes");
}

void SplitToInput(Model& model, NodeId node) { IntsToInput(model, node, "split", 1); }

void ClipBoundsToInputs(Model& model, NodeId node) {
  BoundToInput(model, node, "min", 1, std::numeric_limits<float>::lowest());
  BoundToInput(model, node, "max", 2, std::numeric_limits<float>::max());
}

void DftAxisToInput(Model& model, NodeId node) {
  // The default moved from 1 to -2, so that it is always written out.
  SetOrAppendInput(model, node, 2, AddIntScalar(model, node, "axis", GetInt(model.node(node), "axis", 1)));
  RemoveAttribute(model, node, "axis");
}

void DropoutRatioToInput(Model& model, NodeId node) {
  if (const std::optional<float> ratio = GetFloat(model.node(node), "ratio")) {
    SetOrAppendInput(model, node, 1, AddFloatScalar(model, node, "ratio", *ratio, DType::kFloat32));
  }
  RemoveAttribute(model, node, "ratio");
}

void PadsToInputs(Model& model, NodeId node) {
  SetOrAppendInput(model, node, 1,
                   AddInts(model, node, "pads", GetInts(model.node(node), "pads").value_or(std::vector<int64_t>())));
  RemoveAttribute(model, node, "pads");
  const bool constant = GetString(model.node(node), "mode", "constant") == "constant";
  if (const float value = GetFloat(model.node(node), "value", 0); constant && value != 0) {
    SetOrAppendInput(model, node, 2, AddFloatScalar(model, node, "value", value, DataType(model, node)));
  }
  RemoveAttribute(model, node, "value");
}

void SliceRangesToInputs(Model& model, NodeId node) {
  // Absent axes meant the first ones, as many as there are starts; as an input, absent axes mean all.
  if (const auto axes = GetInts(model.node(node), "axes"); !axes || axes->empty()) {
    std::vector<int64_t> first(GetInts(model.node(node), "starts").value_or(std::vector<int64_t>()).size());
    std::iota(first.begin(), first.end(), 0);
    SetInts(model, node, "axes", first);
  }
  size_t port = 1;
  for (const char* attribute : {"starts", "ends", "axes"}) {
    SetOrAppendInput(
        model, node, port++,
        AddInts(model, node, attribute, GetInts(model.node(node), attribute).value_or(std::vector<int64_t>())));
    RemoveAttribute(model, node, attribute);
  }
}

void TopKToInput(Model& model, NodeId node) {
  SetOrAppendInput(model, node, 1, AddInts(model, node, "k", {GetInt(model.node(node), "k", 0)}));
  RemoveAttribute(model, node, "k");
}

void UpsampleScalesToInput(Model& model, NodeId node) {
  SetOrAppendInput(
      model, node, 1,
      AddFloats(model, node, "scales", GetFloats(model.node(node), "scales").value_or(std::vector<float>())));
  RemoveAttribute(model, node, "scales");
}

}  // namespace amp
