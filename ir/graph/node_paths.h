// Where every node of a model is, as text that no other node has: what reports print and rules by name take.
//
//   MatMul_3                     in the main graph
//   Loop_0/Add#1                 in a body: the owner's path first; the second Add without a name
//   If_0/then_branch/Relu_2      in one of several bodies of a node: the attribute that holds it, too
//   branches.1/...               ("branches.1": the second graph of an attribute that holds a list)
//   call/inner/MatMul_3          inlined from a function: so the node is called (ir/functions/inline_functions.h)
//
// The label of an owner that a node's own name begins with already, as inlined ones do, is not repeated. Where two
// nodes would have one path all the same (names may be there twice, or hold slashes), later ones get "~2", "~3".
#ifndef AMP_IR_GRAPH_NODE_PATHS_H_
#define AMP_IR_GRAPH_NODE_PATHS_H_

#include <string>
#include <vector>

#include "ir/graph/graph.h"

namespace amp {

struct NodePaths {
  IdVector<NodeId, std::string> nodes;    // empty for erased ones
  IdVector<GraphId, std::string> graphs;  // "If_0/then_branch"; "" for the main graph
};

// Returns the name that a node gives its body: "then_branch", or "branches.1" for the second graph of a list.
std::string BodyLabel(const Model& model, GraphId body);

// Linear in the length of all paths. Nodes that are inserted later change none of them.
NodePaths FindNodePaths(const Model& model);
// By index into Model::calls(); empty for calls of which no node is left.
IdVector<CallId, std::string> FindCallPaths(const Model& model);
// Returns the path of one node, for a message; as slow as finding those of all.
std::string NodePath(const Model& model, NodeId node);

}  // namespace amp

#endif  // AMP_IR_GRAPH_NODE_PATHS_H_
