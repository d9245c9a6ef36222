// Steps of normalizations: who trains, and what one statistic or scale is for.
//
//   opset 8:   y = BatchNormalization <spatial = 0> (x, scale, b, mean, var)      scale [C, D], x [N, C, D]
//   opset 9:   f = Flatten (x)   r = BatchNormalization (f, scale as [C * D], ...)   y = Reshape (r, Shape (x))
//
//   opset 18:  y = GroupNormalization <num_groups = 2> (x, s, b)          s [2], x [N, 6, ...]
//   opset 21:  y = GroupNormalization <num_groups = 2> (x, s6, b6)        s6 = {s0, s0, s0, s1, s1, s1}
//
// Up to opset 13 the number of outputs tells whether a BatchNormalization trains; from 14 on an attribute does.
#include <algorithm>

#include "ir/graph/attributes.h"
#include "ir/graph/shape.h"
#include "ir/opset/opset_steps.h"

namespace amp {
namespace {

constexpr int kNumStatistics = 4;  // scale, shift, mean and variance are inputs 1 to 4

bool Trains(const Node& node) { return node.outputs.size() > 1; }

bool AnyRead(const Model& model, const Node& node, size_t first) {
  for (size_t i = first; i < node.outputs.size(); ++i) {
    if (node.outputs[i] != kNone && !model.value(node.outputs[i]).uses.empty()) return true;
  }
  return false;
}

bool IsPerElement(const Node& node) { return GetInt(node, "spatial", 1) == 0; }

// {1, channels per group}, as a constant where the number of channels is known.
ValueId GroupShape(Model& model, NodeId node) {
  const int64_t groups = GetInt(model.node(node), "num_groups", 1);
  const ValueId data = model.node(node).Input(0);
  const auto shape = ShapeOf(model, data);
  if (shape && shape->size() > 1 && (*shape)[1] != kUnknownDim) {
    return AddInts(model, node, "group", {1, (*shape)[1] / groups});
  }
  const ValueId channels = InsertBefore(model, node, "Shape", {data});
  SetInt(model, model.value(channels).producer, "start", 1);
  SetInt(model, model.value(channels).producer, "end", 2);
  const ValueId size = InsertBefore(model, node, "Div", {channels, AddInts(model, node, "groups", {groups})});
  const ValueId group = InsertBefore(model, node, "Concat", {AddInts(model, node, "one", {1}), size});
  SetInt(model, model.value(group).producer, "axis", 0);
  return group;
}

}  // namespace

// The text has both readings of is_test = 0 (its default) with a single output.
Reason IsTestIsPlain(const Model& model, NodeId id) {
  const Node& node = model.node(id);
  const bool tests = GetInt(node, "is_test", 0) != 0;
  if (!tests) return Trains(node) ? Reason::None() : "is_test = 0 with a single output has two readings";
  return AnyRead(model, node, 1) ? "its statistics are read although it does not train" : Reason::None();
}

void BatchNormalizationDropIsTest(Model& model, NodeId node) {
  if (GetInt(model.node(node), "is_test", 0) != 0) model.TruncateOutputs(node, 1);
  RemoveAttribute(model, node, "is_test");
}

Reason StatisticsAreFlat(const Model& model, NodeId id) {
  const Node& node = model.node(id);
  if (!IsPerElement(node)) return Reason::None();
  if (Trains(node)) return "its training form with statistics per element (spatial = 0) has no equivalent";
  const auto extents = ShapeOf(model, node.Input(1));
  const bool known = extents && std::all_of(extents->begin(), extents->end(), [](int64_t n) { return n > 0; });
  return known ? Reason::None() : "the shape of its statistics per element (spatial = 0) is not known";
}

void BatchNormalizationDropSpatial(Model& model, NodeId node) {
  const bool per_element = IsPerElement(model.node(node));
  RemoveAttribute(model, node, "spatial");
  if (!per_element || ShapeOf(model, model.node(node).Input(1))->size() == 1) return;
  const ValueId data = model.node(node).Input(0);
  const ValueId shape = InsertBefore(model, node, "Shape", {data});
  model.SetInput(node, 0, InsertBefore(model, node, "Flatten", {data}));
  const ValueId flat = AddInts(model, node, "flat", {-1});
  for (size_t port = 1; port <= kNumStatistics; ++port) {
    const ValueId statistic = model.node(node).inputs[port];
    model.SetInput(node, port, InsertBefore(model, node, "Reshape", {statistic, flat}));
  }
  const ValueId output = model.node(node).Output(0);
  PutBehind(model, output, InsertBehind(model, node, "Reshape", {output, shape}));
}

Reason SavedStatisticsAreUnread(const Model& model, NodeId id) {
  constexpr size_t kSaved = 3;
  return AnyRead(model, model.node(id), kSaved) ? "its saved statistics are read, which no newer version gives"
                                                : Reason::None();
}

void BatchNormalizationWriteMode(Model& model, NodeId node) {
  constexpr int kOutputsInTraining = 3;
  if (!Trains(model.node(node))) return;
  SetInt(model, node, "training_mode", 1);
  model.TruncateOutputs(node, kOutputsInTraining);
}

Reason HasGroups(const Model& model, NodeId id) {
  const Node& node = model.node(id);
  const int64_t groups = GetInt(node, "num_groups", 0);
  const auto shape = ShapeOf(model, node.Input(0));
  const int64_t channels = shape && shape->size() > 1 ? (*shape)[1] : kUnknownDim;
  if (model.value(node.Input(0)).dtype == DType::kUndefined) return "the type of its data is not known";
  return groups < 1 || (channels != kUnknownDim && channels % groups != 0) ? "its groups do not divide its channels"
                                                                           : Reason::None();
}

void GroupNormalizationPerChannel(Model& model, NodeId node) {
  const ValueId group = GroupShape(model, node), last = AddInts(model, node, "last", {1});
  const ValueId flat = AddInts(model, node, "flat", {-1});
  for (const size_t port : {size_t{1}, size_t{2}}) {
    const ValueId per_group = model.node(node).inputs[port];
    const ValueId column = InsertBefore(model, node, "Unsqueeze", {per_group, last});
    const ValueId table = InsertBefore(model, node, "Expand", {column, group});
    model.SetInput(node, port, InsertBefore(model, node, "Reshape", {table, flat}));
  }
  // Version 18 computes in the data's own type.
  const DType type = model.value(model.node(node).Input(0)).dtype;
  if (type != DType::kFloat32) SetDType(model, node, "stash_type", type);
}

}  // namespace amp
