// The graph that the painting pass colours: one vertex per (node, type variable), not one per node.
//
//   y = Greater(a, b)     ports a, b : vertex (Greater, T)      port y : vertex (Greater, T1), always bool
//   r = Resize(x, scales) ports x, r : vertex (Resize, T1)      scales : vertex (Resize, tensor(float)), unchangeable
//
// There is an edge (A, ta) -> (B, tb) iff an output of A typed by ta feeds an input of B typed by tb. So paint does not
// cross an operator whose output has another type variable than its input, and one shared variable couples ports that
// are otherwise unrelated (Concat, Where). Constants are not painted: they have no vertices, and neither have unknown
// operators and calls of model-local functions.
//
// Bodies of If, Loop, Scan and SequenceMap take part, through captures too: each port of a body is a vertex of its own.
//
//   b = Loop(n, c, a) <l (i, go, s) => (again, t) { t = MatMul(s, x) }>
//     edges a -> Loop.0 -> s -> MatMul -> t -> Loop.0 -> readers of b, and t -> s: paint goes round
//     group {Loop.0, s, t}: they hold one value, so that they change together or not at all
//
// Values that no Cast can convert, sequences and optionals, put producer and readers into one group; one that crosses
// the border of the graph is pinned. Subgraphs of other operators have no vertices.
//
// A BatchNormalization's scale, shift and statistics form a group with its input, if they are to have its type. A norm
// that is about to be replaced has the vertex of its replacement; its scale, shift and statistics have none.
//
// The vertices are those of TensorFlow's auto_mixed_precision, which knows them as NodeTypeId; its groups come from
// Merge nodes and from the clusters of TensorList operators.
#ifndef AMP_PASSES_PAINT_VERTEX_GRAPH_H_
#define AMP_PASSES_PAINT_VERTEX_GRAPH_H_

#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/types/span.h"
#include "ir/base/dtype.h"
#include "ir/graph/graph.h"

namespace amp {

using VertexId = Id<struct VertexTag>;
using GroupId = Id<struct GroupTag>;  // of vertices that must have one type

struct Vertex {
  NodeId node = kNone;      // of a body's port: the node that holds the body
  GraphId body = kNone;     // kNone unless this is a port of a body
  int variable = -1;        // of the node's schema; -1 for a body's port
  bool is_high = false;     // every float32-capable port that it types is float32 now
  bool can_be_low = false;  // the schema at the model's opset allows the low type
  bool is_typed = true;     // the types of all its values are known
  bool has_input = false;   // types at least one connected input
  bool is_pinned = false;   // a sequence or optional that enters or leaves the graph
};

// The type of a BatchNormalization's scale, shift and statistics beside a low input.
enum class Statistics {
  kKeepTheirType,  // as TensorFlow has it, where the opset parts the types
  kFollowInput,    // one type for all, as importers want it
};

using NodeSet = absl::flat_hash_set<NodeId>;

class VertexGraph {
 public:
  // Vertices of the main graph and of all bodies that take part. `replaceable`: BatchNormalizations that a Mul and an
  // Add would take the place of (ir/patterns/batch_norm.h). Linear in nodes and uses.
  VertexGraph(const Model& model, DType low, Statistics statistics = Statistics::kKeepTheirType,
              const NodeSet& replaceable = {});

  DType low() const { return low_; }
  size_t size() const { return vertices_.size(); }
  IdRange<VertexId> ids() const { return vertices_.ids(); }
  const Vertex& operator[](VertexId id) const { return vertices_[id]; }
  // Main graph first, then the bodies in the order of their nodes.
  absl::Span<const GraphId> scopes() const { return scopes_; }
  // The nodes of all scopes: producers before readers, a node before its bodies, bodies before what follows their node.
  absl::Span<const NodeId> order() const { return order_; }
  // kNone where the port has no vertex.
  VertexId OfInput(NodeId node, size_t port) const;
  VertexId OfOutput(NodeId node, size_t port) const;
  VertexId OfBodyInput(GraphId body, size_t port) const;
  VertexId OfBodyOutput(GraphId body, size_t port) const;
  // The vertex that produces the value, or kNone: graph inputs, constants, ports without a vertex, values added since.
  VertexId OfValue(ValueId value) const;
  // The vertex that reads, or kNone: outputs of the main graph, ports without a vertex.
  VertexId OfUse(const Use& use) const;
  // The vertices of the node's own ports. Empty for nodes that were added since.
  IdRange<VertexId> OfNode(NodeId node) const;

  absl::Span<const VertexId> Readers(VertexId id) const { return readers_.Row(id); }
  absl::Span<const VertexId> Producers(VertexId id) const { return producers_.Row(id); }

  // Vertices that must have one type, sorted: at least two, or one that is pinned.
  size_t num_groups() const { return groups_.size(); }
  IdRange<GroupId> groups() const { return IdRange<GroupId>(num_groups()); }
  absl::Span<const VertexId> Group(GroupId group) const { return groups_.Row(group); }
  // kNone for a vertex that is free.
  GroupId GroupOf(VertexId id) const { return group_of_[id]; }

 private:
  friend class VertexGraphBuilder;
  struct Ports {
    size_t first_input = 0, first_output = 0;   // into port_vertices_
    size_t first_vertex = 0, end_vertices = 0;  // the node's own
  };
  VertexId At(size_t first, size_t port) const { return port_vertices_[first + port]; }

  DType low_;
  IdVector<VertexId, Vertex> vertices_;
  std::vector<GraphId> scopes_;
  std::vector<NodeId> order_;
  IdVector<NodeId, Ports> ports_;
  IdVector<GraphId, Ports> bodies_;
  std::vector<VertexId> port_vertices_;
  IdVector<ValueId, VertexId> value_vertices_;
  IdRows<VertexId, VertexId> readers_, producers_;
  IdRows<GroupId, VertexId> groups_;
  IdVector<VertexId, GroupId> group_of_;
};

}  // namespace amp

#endif  // AMP_PASSES_PAINT_VERTEX_GRAPH_H_
