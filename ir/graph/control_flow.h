// How the ports of If, Loop, Scan and SequenceMap are joined with the ports of their bodies.
//
//   Loop(M, cond, a) -> (b, c)       body: (i, go, s) -> (again, t, u)
//     inputs    a (2) -> s (2)
//     outputs   t (1) -> b (0), u (2) -> c (1)
//     states    t (1) -> s (2): what one round leaves is what the next one finds
//
// Joined ports hold one value under several names and have the same element type. Subgraphs that hang on any other
// operator are opaque: nothing is known about who feeds them, or how often they run.
// Source: the operators' specifications, https://onnx.ai/onnx/operators, Scan-8 included.
#ifndef AMP_IR_GRAPH_CONTROL_FLOW_H_
#define AMP_IR_GRAPH_CONTROL_FLOW_H_

#include <optional>
#include <vector>

#include "ir/graph/graph.h"

namespace amp {

struct ControlFlow {
  struct Join {
    GraphId body = kNone;
    size_t body_port = 0;
    size_t node_port = 0;
  };
  struct State {
    GraphId body = kNone;
    size_t output = 0, input = 0;  // of the body
  };
  std::vector<Join> inputs;   // node input -> body input
  std::vector<Join> outputs;  // body output -> node output
  std::vector<State> states;
};

// Nothing for operators that are not control flow of ai.onnx, and for calls of functions that only have such a name.
// Ports that either side does not have are left out.
std::optional<ControlFlow> DescribeControlFlow(const Model& model, NodeId node);

enum class BodyKind {
  kBranch,    // of an If: runs once or never
  kRepeated,  // of a Loop, Scan or SequenceMap: what it computes from outer values alone can be computed outside
  kOpaque,    // of anything else
};
BodyKind KindOfBody(const Model& model, GraphId body);

}  // namespace amp

#endif  // AMP_IR_GRAPH_CONTROL_FLOW_H_
