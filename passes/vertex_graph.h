// What the painting pass colours: one vertex per (node, type variable), not one per node.
//
//   y = Greater(a, b)     ports a, b : vertex (Greater, T)      port y : vertex (Greater, T1), always bool
//   r = Resize(x, scales) ports x, r : vertex (Resize, T1)      scales : vertex (Resize, tensor(float)), unchangeable
//
// There is an edge (A, ta) -> (B, tb) iff an output of A typed by ta feeds an input of B typed by tb. So paint does not
// cross an operator whose output has another type variable than its input, and one shared variable couples ports that
// are otherwise unrelated (Concat, Where). Constants are not painted: they have no vertices, and neither have unknown
// operators, calls of model-local functions, operators with bodies, and operators on sequences or optionals.
//
// The vertices are those of TensorFlow's auto_mixed_precision, which knows them as NodeTypeId.
#ifndef AMP_PASSES_VERTEX_GRAPH_H_
#define AMP_PASSES_VERTEX_GRAPH_H_

#include <vector>

#include "absl/types/span.h"
#include "ir/dtype.h"
#include "ir/graph.h"

namespace amp {

using VertexId = int32_t;

struct Vertex {
  NodeId node = kNone;
  int variable = 0;
  bool is_high = false;     // every float32-capable port that it types is float32 now
  bool can_be_low = false;  // the schema at the model's opset allows the low type
  bool is_typed = true;     // the types of all its values are known
  bool has_input = false;   // types at least one connected input
};

class VertexGraph {
 public:
  // Vertices of the main graph. Linear in nodes and uses.
  VertexGraph(const Model& model, DType low);

  DType low() const { return low_; }
  int size() const { return static_cast<int>(vertices_.size()); }
  const Vertex& operator[](VertexId id) const { return vertices_[static_cast<size_t>(id)]; }
  // kNone where the port has no vertex.
  VertexId OfInput(NodeId node, int port) const;
  VertexId OfOutput(NodeId node, int port) const;
  // The vertex that reads, or kNone: graph outputs, uses in bodies, ports without a vertex.
  VertexId OfUse(const Use& use) const;
  // Empty for nodes that were added since.
  absl::Span<const VertexId> OfNode(NodeId node) const;

  absl::Span<const VertexId> Readers(VertexId id) const { return Row(readers_, reader_start_, id); }
  absl::Span<const VertexId> Producers(VertexId id) const { return Row(producers_, producer_start_, id); }

 private:
  struct Ports {
    int32_t first_input = 0, first_output = 0;  // into port_vertices_
    int32_t first_vertex = 0, num_vertices = 0;
  };
  void AddNode(const Model& model, NodeId id);
  void AddEdges(const Model& model);
  static absl::Span<const VertexId> Row(const std::vector<VertexId>& flat, const std::vector<int32_t>& start,
                                        VertexId id) {
    const auto begin = static_cast<size_t>(start[static_cast<size_t>(id)]);
    const auto end = static_cast<size_t>(start[static_cast<size_t>(id) + 1]);
    return absl::MakeConstSpan(flat).subspan(begin, end - begin);
  }

  DType low_;
  bool has_casts_;
  std::vector<Vertex> vertices_;
  std::vector<VertexId> all_ids_;
  std::vector<Ports> ports_;  // by node
  std::vector<VertexId> port_vertices_;
  std::vector<int32_t> reader_start_, producer_start_;
  std::vector<VertexId> readers_, producers_;
};

}  // namespace amp

#endif  // AMP_PASSES_VERTEX_GRAPH_H_
