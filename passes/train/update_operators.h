// Operators that change weights by gradients, in graphs that others have made: which operands are gradients, and which
// results are the next values of which operands.
//
//   SGD (w, g) -> w'        Momentum (rate, count, w1, w2, g1, g2, v1, v2) -> w1', w2', v1', v2'
#ifndef AMP_PASSES_TRAIN_UPDATE_OPERATORS_H_
#define AMP_PASSES_TRAIN_UPDATE_OPERATORS_H_

#include <optional>
#include <utility>
#include <vector>

#include "ir/graph/graph.h"

namespace amp {

struct UpdatePorts {
  std::vector<size_t> gradients;                   // inputs
  std::vector<std::pair<size_t, size_t>> updates;  // output, and the input that it is the next value of
};

// Nothing for a node that is no such operator.
std::optional<UpdatePorts> FindUpdatePorts(const Model& model, NodeId node);

// The gradient of a loss that takes no gradient to begin with: its result is where gradients begin.
bool BeginsGradients(const Model& model, NodeId node);
// Gradient of ai.onnx.preview.training.
bool IsGradientOperator(const Model& model, NodeId node);

}  // namespace amp

#endif  // AMP_PASSES_TRAIN_UPDATE_OPERATORS_H_
