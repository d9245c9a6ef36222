#include "passes/guard/guard_transposes.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "ir/graph/attributes.h"
#include "ir/graph/shape.h"

namespace amp {
namespace {

// Whether the first axis goes behind all others, or behind all but the last, and the rest keeps its order.
bool MovesFirstAxisBack(const std::vector<int64_t>& perm) {
  const auto rank = static_cast<int64_t>(perm.size());
  if (rank < 3 || (perm[perm.size() - 1] != 0 && perm[perm.size() - 2] != 0)) return false;
  int64_t next = 1;
  for (const int64_t axis : perm) {
    if (axis != 0 && axis != next++) return false;
  }
  return true;
}

bool IsTransposedBatch(const GuardedGraph& graph, NodeId id) {
  if (!graph.roles(id).Has(Role::kRearranges)) return false;
  const auto perm = GetInts(graph.node(id), "perm");
  return perm.has_value() && MovesFirstAxisBack(*perm);
}

// A constant, or what is cast from one, of one axis or two.
bool IsConstantMatrix(const GuardedGraph& graph, ValueId weights) {
  if (weights == kNone || !graph.IsConstant(graph.Origin(weights))) return false;
  const std::optional<std::vector<int64_t>> dims = ShapeOf(graph.model(), weights);
  return dims.has_value() && dims->size() <= 2;
}

// The node that makes the value, casts between floats aside.
NodeId ProducerBehindCasts(const GuardedGraph& graph, ValueId value) {
  constexpr int kMostCasts = 8;
  NodeId id = graph.Producer(value);
  for (int i = 0; i < kMostCasts && id != kNone && graph.IsFloatCast(id); ++i) {
    id = graph.Producer(graph.node(id).Input(0));
  }
  return id;
}

}  // namespace

void GuardTransposes(const GuardedGraph& graph, VetoList& vetoes) {
  const std::optional<Device> device = graph.promises().device;
  if (graph.vertices().low() != DType::kFloat16 || device.value_or(Device::kCpu) != Device::kCpu) return;
  for (const NodeId id : graph.order()) {
    if (!graph.roles(id).Has(Role::kMatrixProduct)) continue;
    const NodeId transpose = ProducerBehindCasts(graph, graph.node(id).Input(0));
    if (transpose == kNone || !IsTransposedBatch(graph, transpose)) continue;
    if (!IsConstantMatrix(graph, graph.node(id).Input(1))) continue;
    vetoes.AddNode(transpose,
                   absl::StrCat("transposed batches: in float16 ONNX Runtime crashes as it loads this ahead of ",
                                graph.Label(id), ", a product by constant weights"));
  }
}

}  // namespace amp
