// Applies a painting: element types change, and every float32 value that is read in another type than it is produced in
// gets one Cast per type, shared by all its readers of that type.
//
//   x:f32 ─ MatMul(low) ─ y ─┬─ Relu(low)            x ─ Cast ─ MatMul ─ y:f16 ─┬─ Relu
//                            └─ Softmax(high)                                   └─ Cast ─ Softmax
//
// The cast sits right behind its producer, for readers in the body of a Loop or Scan too, which then find it done.
// Readers in a branch of an If get a cast of their own at the branch's front, so that a branch not taken costs nothing.
// A graph output keeps its name and type: the cast takes the name over and the producer's value is renamed. Constants
// are left to narrow_weights.h. The painting decides; nothing is decided here.
#ifndef AMP_PASSES_CAST_INSERT_CASTS_H_
#define AMP_PASSES_CAST_INSERT_CASTS_H_

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "ir/graph/node_paths.h"
#include "passes/paint/paint_graph.h"

namespace amp {

// Distributes the readers of a value over the scopes in which a conversion for them has to stand: the value's own,
// unless an If lies between. Readers below a scope that converts anyway share its conversion.
struct ScopedReaders {
  GraphId scope = kMainGraph;
  std::vector<Use> readers;
};
std::vector<ScopedReaders> PlaceConversions(const Model& model, ValueId value, const std::vector<Use>& readers);

// The Casts of one value that the painting needs, one per place.
struct PlannedCasts {
  ValueId value = kNone;
  DType from = DType::kFloat32, to = DType::kFloat32;
  std::vector<ScopedReaders> places;
};

// Everything that changes type or needs a cast, in a stable order: graph inputs first, then nodes in order.
struct CastPlan {
  std::vector<ValueId> low_values;  // produced low from now on
  std::vector<size_t> low_inputs;   // released graph inputs that become low, by position
  std::vector<PlannedCasts> casts;
  // Constants read by low vertices, with those readers. Readers of the shape alone take either type; the others keep
  // float32.
  struct Constant {
    ValueId value = kNone;
    std::vector<Use> low_readers, shape_readers, high_readers;
  };
  std::vector<Constant> constants;
};

CastPlan PlanCasts(const Model& model, const VertexGraph& graph, const Paint& paint, const ReleasedIo& released,
                   DType low);

// The names of readers, as the model had them when this was made, so that edits change no name.
class ReaderNames {
 public:
  // `model` must outlive this. Linear in the length of all names.
  explicit ReaderNames(const Model& model);
  // The node's path, "(output NAME)" for an output of the model, "(output NAME of If_0/then_branch)" for one of a body.
  // Newer nodes have their label.
  std::string Of(const Use& use) const;

 private:
  const Model& model_;
  const NodePaths paths_;
  IdVector<GraphId, std::vector<std::string>> outputs_;  // by port
};

// A Cast that was inserted.
struct InsertedCast {
  NodeId node = kNone;
  ValueId value = kNone;  // what it reads
  DType from = DType::kFloat32, to = DType::kFloat32;
  std::vector<std::string> readers;  // see ReaderNames; filled once all edits are made
  int64_t num_elements = -1;         // -1: not known
};

// Inserts Casts behind the producers of their values, or else at the front of their scopes, one behind the other.
class CastInserter {
 public:
  explicit CastInserter(Model& model) : model_(model) {}
  // One per place.
  std::vector<NodeId> Insert(ValueId value, DType to, absl::Span<const ScopedReaders> places);

 private:
  NodeId InsertOne(ValueId value, DType to, GraphId scope);

  Model& model_;
  absl::flat_hash_map<GraphId, NodeId> front_;  // the last cast at a scope's front
};

std::vector<InsertedCast> ApplyCasts(Model& model, const CastPlan& plan, DType low);

// Lets attributes that hold an element type follow their vertices. After the weights are narrowed: a DequantizeLinear
// without output_dtype gives the type of its scale.
void UpdateTypeAttributes(Model& model, const VertexGraph& graph, const Paint& paint);

}  // namespace amp

#endif  // AMP_PASSES_CAST_INSERT_CASTS_H_
