// Edits for a dimension that becomes symbolic: what the main graph states of its values, and constants that say shapes.
#ifndef AMP_IR_GRAPH_SYMBOLIC_DIMS_H_
#define AMP_IR_GRAPH_SYMBOLIC_DIMS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "ir/graph/graph.h"

namespace amp {

struct SymbolicDim {
  size_t axis = 0;
  std::string symbol;  // "": unknown
};

// In all that the file states of these values of the main graph, as inputs, outputs and in value_info. A shape that is
// not stated, or of another rank, stays as it is. Types are to be inferred again.
void StateSymbolicDims(Model& model, const absl::flat_hash_map<ValueId, SymbolicDim>& dims);

// A new initializer of the main graph, of rank 1. `name`: unique already.
ValueId AddInt64s(Model& model, std::string name, const std::vector<int64_t>& elements);

}  // namespace amp

#endif  // AMP_IR_GRAPH_SYMBOLIC_DIMS_H_
