// Scan before version 9 runs once per element of a batch, axis 0 of all it reads and gives. From 9 on that is a Scan
// over the batch whose body is a Scan over the sequence:
//
//   opset 8:  y, z = Scan <body, num_scan_inputs = 1> ("", s, x)        s [B, ...], x [B, T, ...]
//   opset 9:  y, z = Scan <outer, num_scan_inputs = 2> (s, x)
//             outer (s_slice, x_slice) { y_slice, z_slice = Scan <body, num_scan_inputs = 1> (s_slice, x_slice) }
#include <algorithm>

#include "ir/graph/attributes.h"
#include "ir/opset/opset_steps.h"

namespace amp {

Reason ScansWholeSequences(const Model& model, NodeId id) {
  const Node& node = model.node(id);
  if (node.Input(0) != kNone) return "sequences of different lengths have no equivalent";
  const auto is_absent = [](ValueId value) { return value == kNone; };
  const bool any = std::any_of(node.inputs.begin() + 1, node.inputs.end(), is_absent) ||
                   std::any_of(node.outputs.begin(), node.outputs.end(), is_absent);
  return any ? "an input or output is absent" : Reason::None();
}

void ScanBatchByScan(Model& model, NodeId node) {
  const size_t count = model.node(node).inputs.size() - 1;
  for (size_t port = 0; port < count; ++port) {
    model.SetInput(node, port, model.node(node).inputs[port + 1]);
  }
  model.TruncateInputs(node, count);
  const NodeId sequence = model.NestInBody(node, "body");
  SetInt(model, node, "num_scan_inputs", static_cast<int64_t>(count));
  if (const auto directions = GetInts(model.node(sequence), "directions")) {
    SetInts(model, sequence, "scan_input_directions", *directions);
    RemoveAttribute(model, sequence, "directions");
  }
}

}  // namespace amp
