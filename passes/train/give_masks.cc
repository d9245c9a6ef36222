#include "passes/train/give_masks.h"

#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "ir/graph/attributes.h"
#include "ir/graph/constant.h"

namespace amp {
namespace {

constexpr size_t kTrains = 2, kMask = 1;

bool LacksMask(const Model& model, NodeId id) {
  const Node& node = model.node(id);
  const bool is_dropout = node.graph == kMainGraph && node.domain().empty() && node.op_type() == "Dropout";
  return is_dropout && node.Input(kTrains) != kNone && node.Output(kMask) == kNone &&
         ScalarConstant(model, node.Input(kTrains)) != 0;
}

// A node with two outputs in its stead, under the same names.
void Replace(Model& model, NodeId id) {
  const Node& node = model.node(id);
  const ValueId from = node.Output(0);
  const std::string name(node.name()), result = model.value(from).name;
  const std::optional<int64_t> seed = GetInt(node, "seed");
  const NodeId made = model.InsertAfter(
      kMainGraph, id,
      {.op_type = "Dropout",
       .name = model.UniqueName(absl::StrCat(name.empty() ? result : name, "_with_mask")),
       .inputs = {node.inputs.begin(), node.inputs.end()},
       .outputs = {model.UniqueName(absl::StrCat(result, "_kept")), model.UniqueName(absl::StrCat(result, "_mask"))}});
  if (seed.has_value()) SetInt(model, made, "seed", *seed);
  const ValueId to = model.node(made).Output(0);
  model.CopyType(from, to);
  model.ReplaceUses(from, to, [](const Use&) { return true; });
  const bool is_output = model.IsModelOutput(from);
  if (is_output) model.TakeOverGraphOutputs(from, to, model.UniqueName(absl::StrCat(result, "_replaced")));
  model.Erase(id);
  if (!is_output) model.Rename(to, result);
}

}  // namespace

void GiveMasks(Model& model) {
  for (const NodeId id : model.AllNodes()) {
    if (LacksMask(model, id)) Replace(model, id);
  }
}

}  // namespace amp
