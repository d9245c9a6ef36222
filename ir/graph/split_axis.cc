#include "ir/graph/split_axis.h"

#include <cstdint>
#include <optional>
#include <vector>

#include "ir/graph/attributes.h"
#include "ir/graph/constant.h"
#include "ir/graph/shape.h"

namespace amp {

SplitAxis FindSplitAxis(const Model& model, NodeId id) {
  const Node& node = model.node(id);
  const bool asks = node.op_type() == "SplitToSequence" && node.domain().empty() && node.Input(1) != kNone &&
                    GetInt(node, "keepdims", 1) == 0;
  if (!asks) return SplitAxis::kAsOnnxSays;
  const ValueId size = node.Input(1);
  const std::optional<std::vector<int64_t>> dims = ShapeOf(model, size);
  if (dims.has_value() && !dims->empty()) return SplitAxis::kAsOnnxSays;
  const std::optional<double> constant = dims.has_value() ? ScalarConstant(model, size) : std::nullopt;
  if (!constant.has_value()) return SplitAxis::kUnknown;
  return *constant == 1 ? SplitAxis::kDropped : SplitAxis::kAsOnnxSays;
}

}  // namespace amp
