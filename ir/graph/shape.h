// The shape of a value, as far as inference knows it.
#ifndef AMP_IR_GRAPH_SHAPE_H_
#define AMP_IR_GRAPH_SHAPE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ir/graph/graph.h"

namespace amp {

inline constexpr int64_t kUnknownDim = -1;

// Dimensions, kUnknownDim for symbolic ones; nothing when the rank is unknown or the value is no tensor.
std::optional<std::vector<int64_t>> ShapeOf(const Model& model, ValueId value);

// The names of the symbolic dimensions, "" for others; as many as ShapeOf has.
std::vector<std::string> DimSymbols(const Model& model, ValueId value);

// The shapes that a graph itself states of its inputs and outputs, by port. Inference may know another shape, or none,
// if it changes from one round of a loop to the next.
std::optional<std::vector<int64_t>> StatedInputShape(const Model& model, GraphId graph, size_t port);
std::optional<std::vector<int64_t>> StatedOutputShape(const Model& model, GraphId graph, size_t port);

// Product of the dimensions, saturated (ir/base/saturated.h); -1 when any is unknown.
int64_t NumElements(const Model& model, ValueId value);

// Returns the bytes of its elements, saturated; 0 if a dimension or the type is unknown.
int64_t NumBytes(const Model& model, ValueId value);

// "float32[1,3,N,224]", "sequence", "unknown": as escaped text.
std::string TypeText(const Model& model, ValueId value);

}  // namespace amp

#endif  // AMP_IR_GRAPH_SHAPE_H_
