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
  int node_first_input = 0, body_first_input = 0;
  int body_first_output = 0;
  int states = 0;
};

Layout LayoutOf(const Node& node, Kind kind) {
  constexpr int kFirstScanWithoutLengths = 9;  // before, input 0 holds the lengths of the sequences
  const int num_inputs = static_cast<int>(node.inputs.size());
  switch (kind) {
    case Kind::kLoop:
      return {2, 2, 1, num_inputs - 2};
    case Kind::kScan: {
      const int first = node.schema->since_version() < kFirstScanWithoutLengths ? 1 : 0;
      const int scanned = static_cast<int>(std::clamp<int64_t>(GetInt(node, "num_scan_inputs", 0), 0, num_inputs));
      return {first, 0, 0, num_inputs - first - scanned};
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
    const int num_body_inputs = kind == Kind::kIf ? 0 : static_cast<int>(graph.inputs.size());
    const int num_body_outputs = static_cast<int>(graph.outputs.size());
    for (int i = layout.body_first_input; i < num_body_inputs; ++i) {
      const int port = i - layout.body_first_input + layout.node_first_input;
      if (port < static_cast<int>(node.inputs.size())) flow.inputs.push_back({body, i, port});
    }
    for (int i = layout.body_first_output; i < num_body_outputs; ++i) {
      const int port = i - layout.body_first_output;
      if (port < static_cast<int>(node.outputs.size())) flow.outputs.push_back({body, i, port});
    }
    for (int i = 0; i < layout.states; ++i) {
      const int output = layout.body_first_output + i, input = layout.body_first_input + i;
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
