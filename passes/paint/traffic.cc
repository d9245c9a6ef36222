#include "passes/paint/traffic.h"

#include <algorithm>
#include <limits>

#include "ir/base/saturated.h"
#include "ir/graph/control_flow.h"
#include "ir/graph/shape.h"

namespace amp {
namespace {

constexpr int64_t kNominalDim = 32;
constexpr int64_t kNominalTrips = 8;
constexpr int64_t kMostTrips = kNominalTrips * kNominalTrips * kNominalTrips;
constexpr int64_t kMostBytes = 1ll << 38;
constexpr int kNoShape = std::numeric_limits<int>::max();

// Gives as many elements as it reads.
bool KeepsSize(const Node& node) {
  return node.Has(Role::kRearranges) || (node.Has(Role::kPointwise) && node.inputs.size() == 1);
}

}  // namespace

Traffic::Traffic(const Model& model, absl::Span<const NodeId> order)
    : model_(model), sizes_(model.num_values()), trips_(model.num_graphs(), 1) {
  for (const ValueId id : model.AllValues()) sizes_[id] = SizeOf(id);
  for (const NodeId id : order) {
    Agree(model.node(id));
    AddUp(model.node(id));
  }
  for (size_t i = order.size(); i-- > 0;) Agree(model.node(order[i]));
  int64_t largest = 1;
  for (const Size& size : sizes_) {
    largest = std::max(largest, size.elements);
    knows_all_ &= size.num_unknown == 0;
  }
  for (Size& size : sizes_) {
    if (size.num_unknown == kNoShape) size.elements = largest;
  }
  for (const GraphId graph : model.AllGraphs()) {  // a body comes after the graph of its owner
    if (graph == kMainGraph) continue;
    const int64_t around = trips_[model.node(model.graph(graph).owner).graph];
    const bool is_repeated = KindOfBody(model, graph) == BodyKind::kRepeated;
    trips_[graph] = std::min(around * (is_repeated ? kNominalTrips : 1), kMostTrips);
  }
}

int64_t Traffic::Bytes(int64_t elements, int64_t bytes_per_element, GraphId scope) const {
  return std::min(SaturatedProduct(SaturatedProduct(elements, bytes_per_element), trips_[scope]), kMostBytes);
}

Traffic::Size Traffic::SizeOf(ValueId value) const {
  if (model_.value(value).dtype != DType::kFloat32) return {};
  const auto shape = ShapeOf(model_, value);
  if (!shape.has_value()) return {0, kNoShape};
  Size size{1, 0};
  for (const int64_t dim : *shape) {
    size.elements = SaturatedProduct(size.elements, dim == kUnknownDim ? kNominalDim : dim);
    size.num_unknown += dim == kUnknownDim ? 1 : 0;
  }
  return size;
}

// The better known of what it reads and gives counts for both.
void Traffic::Agree(const Node& node) {
  const ValueId from = node.Input(0), to = node.Output(0);
  if (!KeepsSize(node) || from == kNone || to == kNone) return;
  if (model_.value(from).dtype != DType::kFloat32 || model_.value(to).dtype != DType::kFloat32) return;
  Size& a = sizes_[from];
  Size& b = sizes_[to];
  (a.num_unknown < b.num_unknown ? b : a) = a.num_unknown < b.num_unknown ? a : b;
}

// The node's output is as large as all its inputs together, if those are known as well.
void Traffic::AddUp(const Node& node) {
  const ValueId to = node.Output(0);
  if (!node.Has(Role::kJoins) || to == kNone || model_.value(to).dtype != DType::kFloat32) return;
  Size sum;
  for (const ValueId from : node.PresentInputs()) {
    sum.elements = SaturatedSum(sum.elements, sizes_[from].elements);
    sum.num_unknown = std::max(sum.num_unknown, sizes_[from].num_unknown);
  }
  if (sum.num_unknown <= sizes_[to].num_unknown && sum.num_unknown != kNoShape) sizes_[to] = sum;
}

}  // namespace amp
