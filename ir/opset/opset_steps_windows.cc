// Steps of operators that slide a window: where a pool's last window starts.
//
// Version 11 of ConvTranspose has the reverse of version 1's formula for odd padding under output_shape. That is a
// correction, not a step: version 1 contradicts itself there, and runtimes compute both versions alike.
#include "ir/graph/attributes.h"
#include "ir/graph/shape.h"
#include "ir/opset/opset_steps.h"

namespace amp {
namespace {

constexpr int64_t kSane = int64_t{1} << 31;

// The extents of the spatial dimensions of [N, C, D1, D2 ...], kUnknownDim where not known.
std::vector<int64_t> SpatialExtents(const Model& model, ValueId id, size_t count) {
  std::vector<int64_t> extents(count, kUnknownDim);
  const auto shape = ShapeOf(model, id);
  for (size_t i = 0; shape && i < count && i + 2 < shape->size(); ++i) extents[i] = (*shape)[i + 2];
  return extents;
}

std::vector<int64_t> IntsOr(const Node& node, absl::string_view name, size_t count, int64_t unset) {
  auto values = GetInts(node, name).value_or(std::vector<int64_t>());
  values.resize(count, unset);
  return values;
}

}  // namespace

// With ceil_mode, version 22 leaves out windows that would start behind the data, in the padding on the right. There is
// none where `pad_end + stride <= window`; else the extent of the data decides.
Reason NoWindowStartsInPadding(const Model& model, NodeId id) {
  const Node& node = model.node(id);
  if (GetInt(node, "ceil_mode", 0) == 0 || GetString(node, "auto_pad", "NOTSET") != "NOTSET") return Reason::None();
  const auto kernel = GetInts(node, "kernel_shape").value_or(std::vector<int64_t>());
  const size_t axes = kernel.size();
  const auto strides = IntsOr(node, "strides", axes, 1), dilations = IntsOr(node, "dilations", axes, 1);
  const auto pads = IntsOr(node, "pads", 2 * axes, 0);
  const auto extents = SpatialExtents(model, node.Input(0), axes);
  for (size_t i = 0; i < axes; ++i) {
    for (int64_t x : {kernel[i], strides[i], dilations[i]}) {
      if (x < 1 || x > kSane) return "its window, strides or dilations are out of range";
    }
    for (int64_t x : {pads[i], pads[axes + i]}) {
      if (x < 0 || x > kSane) return "its pads are out of range";
    }
    const int64_t window = (kernel[i] - 1) * dilations[i] + 1;
    if (pads[axes + i] + strides[i] <= window) continue;
    const int64_t free = extents[i] + pads[i] + pads[axes + i] - window;
    const bool known = extents[i] != kUnknownDim && extents[i] < kSane && free >= 0;
    const int64_t last_start = (free + strides[i] - 1) / strides[i] * strides[i];
    if (!known || last_start >= extents[i] + pads[i]) return "with ceil_mode, a window may start in the padding";
  }
  return Reason::None();
}

}  // namespace amp
