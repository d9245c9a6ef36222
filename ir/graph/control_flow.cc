#include "ir/graph/control_flow.h"

#include <algorithm>

#include "ir/graph/attributes.h"
#include "ir/schema/schema.h"

namespace amp {
namespace {

using Kind = ControlFlowKind;

Kind KindOf(const Node& node) {
  return node.schema == nullptr || node.bodies.empty() ? Kind::kNone : node.op->control_flow;
}

// Where the ports of node and body meet: body input `body_first + i` is node input `node_first + i`, and likewise for
// outputs; the first `states` of them are carried from round to round.
struct Layout {
  size_t node_first_input = 0, body_first_input = 0;
  size_t body_first_output = 0;
  size_t states = 0;
};

Layout LayoutOf(const Node& node, Kind kind) {
  constexpr int kFirstScanWithoutLengths = 9;  // before, input 0 holds the lengths of the sequences
  const size_t num_inputs = node.inputs.size();
  const auto without = [&](size_t others) { return num_inputs - std::min(others, num_inputs); };
  switch (kind) {
    case Kind::kLoop:
      return {2, 2, 1, without(2)};
    case Kind::kScan: {
      const size_t first = node.schema->since_version() < kFirstScanWithoutLengths ? 1 : 0;
      const auto scanned = static_cast<size_t>(std::max<int64_t>(GetInt(node, "num_scan_inputs", 0), 0));
      return {first, 0, 0, without(first + std::min(scanned, num_inputs))};
    }
    case Kind::kIf:
    case Kind::kSequenceMap:
    case Kind::kNone:
      break;
  }
  return {};
}

}  // namespace

std::optional<ControlFlow> DescribeControlFlow(const Model& model, NodeId id) {
  const Node& node = model.node(id);
  const Kind kind = KindOf(node);
  if (kind == Kind::kNone) return std::nullopt;
  const Layout layout = LayoutOf(node, kind);
  ControlFlow flow;
  for (GraphId body : node.bodies) {
    const Graph& graph = model.graph(body);
    const size_t num_body_inputs = kind == Kind::kIf ? 0 : graph.inputs.size();
    const size_t num_body_outputs = graph.outputs.size();
    for (size_t i = layout.body_first_input; i < num_body_inputs; ++i) {
      const size_t port = i - layout.body_first_input + layout.node_first_input;
      if (port < node.inputs.size()) flow.inputs.push_back({body, i, port});
    }
    for (size_t i = layout.body_first_output; i < num_body_outputs; ++i) {
      const size_t port = i - layout.body_first_output;
      if (port < node.outputs.size()) flow.outputs.push_back({body, i, port});
    }
    for (size_t i = 0; i < layout.states; ++i) {
      const size_t output = layout.body_first_output + i, input = layout.body_first_input + i;
      if (output < num_body_outputs && input < num_body_inputs) flow.states.push_back({body, output, input});
    }
  }
  return flow;
}

BodyKind KindOfBody(const Model& model, GraphId body) {
  switch (KindOf(model.node(model.graph(body).owner))) {
    case Kind::kIf:
      return BodyKind::kBranch;
    case Kind::kLoop:
    case Kind::kScan:
    case Kind::kSequenceMap:
      return BodyKind::kRepeated;
    case Kind::kNone:
      break;
  }
  return BodyKind::kOpaque;
}

}  // namespace amp
