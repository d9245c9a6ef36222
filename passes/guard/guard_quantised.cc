#include "passes/guard/guard_quantised.h"

#include "absl/strings/str_cat.h"

namespace amp {
namespace {

constexpr int kBits = 8;

// Numbers of 8 bits or fewer and a scale make floats: DequantizeLinear, whatever its domain.
bool Dequantizes(const GuardedGraph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const ValueId numbers = node.Input(0), scale = node.Input(1);
  if (graph.roles(id).Has(Role::kCasts)) return false;  // CastLike, to the type of the second
  if (numbers == kNone || scale == kNone || !graph.IsFloat(scale) || !graph.IsFloat(node.Output(0))) return false;
  const Value& value = graph.model().value(numbers);
  const int bits = value.is_tensor ? BitsPerElement(value.dtype) : 0;
  return bits > 0 && bits <= kBits && value.dtype != DType::kBool;
}

// The node that makes this operand of numbers of 8 bits; kNone where none does.
NodeId Dequantizer(const GuardedGraph& graph, ValueId operand) {
  const NodeId id = operand == kNone ? kNone : graph.Producer(graph.Origin(operand));
  return id != kNone && Dequantizes(graph, id) ? id : kNone;
}

}  // namespace

void GuardQuantised(const GuardedGraph& graph, VetoList& vetoes) {
  for (const NodeId id : graph.order()) {
    if (!graph.roles(id).Has(Role::kHeavy)) continue;
    const NodeId a = Dequantizer(graph, graph.node(id).Input(0)), b = Dequantizer(graph, graph.node(id).Input(1));
    if (a == kNone || b == kNone) continue;
    vetoes.AddNode(id, absl::StrCat("quantised: multiplies what ", graph.Label(a), " and ", graph.Label(b),
                                    " make of 8 bits, which runtimes do in integers"));
  }
}

}  // namespace amp
