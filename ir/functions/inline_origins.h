// Where inlined nodes come from: what OutlineFunctions needs to turn them into functions again.
//
// Nodes are known by their names, which inlining makes unique over all scopes and no later edit changes.
#ifndef AMP_IR_FUNCTIONS_INLINE_ORIGINS_H_
#define AMP_IR_FUNCTIONS_INLINE_ORIGINS_H_

#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "ir/graph/graph.h"

namespace amp {

// A node in the names of its function. All nodes that come from it share one.
struct NodeForm {
  std::string name;  // empty if it had none
  std::vector<std::string> inputs, outputs;
  struct Reference {
    std::string attribute, to;  // an attribute of the node, and that of the function it stood for
    int kind = 0;               // onnx::AttributeProto::AttributeType
    bool operator<(const Reference& other) const {
      return std::tie(attribute, to, kind) < std::tie(other.attribute, other.to, other.kind);
    }
  };
  std::vector<Reference> references;
  bool operator<(const NodeForm& other) const {
    return std::tie(name, inputs, outputs, references) <
           std::tie(other.name, other.inputs, other.outputs, other.references);
  }
};

struct InlinedNode {
  CallId call = kNone;
  const NodeForm* form = nullptr;  // one of InlineOrigins::forms
};

// An inlined call; Model::calls() has the same ones in the same order.
struct CallOrigin {
  CallId parent = kNone;              // the call whose function held this one
  int function = -1;                  // into InlineOrigins::functions
  const NodeForm* form = nullptr;     // one of InlineOrigins::forms; null for a call in a graph of the model
  std::string node;                   // the NodeProto as bytes, in the model's names, attributes bound
  std::string unnamed_label;          // where the node has no name; else empty
  std::vector<std::string> outputs;   // by position: the function's name of what it gives
  const std::string* body = nullptr;  // one of InlineOrigins::bodies: right after inlining; null: no nodes
};

struct InlineOrigins {
  std::shared_ptr<const onnx::ModelProto> functions;  // nothing but the model's functions
  IdVector<CallId, CallOrigin> calls;
  absl::flat_hash_map<std::string, InlinedNode> nodes;  // by name
  std::set<NodeForm> forms;
  std::set<std::string> bodies;
  absl::flat_hash_map<std::string, std::string> values;  // inputs and initializers of bodies: their functions' names
  absl::flat_hash_set<std::string> initializers;         // of the inlined model, all graphs
};

}  // namespace amp

#endif  // AMP_IR_FUNCTIONS_INLINE_ORIGINS_H_
