// Reverse-mode differentiation, graph to graph: nodes are added that compute how a loss changes with given values.
//
//   y = MatMul (x, w)                     dy   = ... gradient of what reads y, once
//   loss = ReduceMean (y)          ->     dw   = ai.amp.MatrixWeightGradient (x, dy)      no dx: x was not asked for
//
// Every operator on the way from the loss to what is asked for has a rule (passes/train/gradient/gradient_rule.h);
// nodes that nothing asked for depends on get no backward nodes. A value with several readers has its gradients summed
// once. A rule that does not exist is an error, never a silent zero. The idea: Linnainmaa 1970; Speelpenning 1980.
#ifndef AMP_PASSES_TRAIN_DIFFERENTIATE_H_
#define AMP_PASSES_TRAIN_DIFFERENTIATE_H_

#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ir/graph/graph.h"

namespace amp {

// The rules write operators as of this opset of ai.onnx, or newer ones; PrepareForTraining lifts older models.
inline constexpr int kOldestTrainableOpset = 13;
inline constexpr int kOpsetOfAllRules = 16;  // what some rules need: scatters that add

// Adds the gradient of `loss`, which has one element, times `seed`, a scalar. Returns one value for each of `of`, of
// its shape and type. `of` are values of the main graph: initializers, inputs, outputs of nodes. The new nodes stand at
// the end of the graph, and their types are inferred. REQUIRES: types are inferred; model-local functions are inlined
// (PrepareForTraining). Errors, nothing edited: kDataLoss for an operator without a rule, with the path to it from the
// loss, for control flow on that path, and for one of `of` that the loss does not depend on. Errors of a rule (a shape
// that has to be known) leave a model that is of no use; `refused`, unless null, gets that node. Linear in the nodes.
absl::StatusOr<std::vector<ValueId>> Gradients(Model& model, ValueId loss, ValueId seed, absl::Span<const ValueId> of,
                                               NodeId* refused = nullptr);

// Returns the values of `of` that the loss depends on, in their order. In a model with several outputs these are the
// weights that a loss of one output can train. Rules, and control flow on the way, are not looked at.
std::vector<ValueId> ReachedFrom(const Model& model, ValueId loss, absl::Span<const ValueId> of);

// Returns those of `of` that the loss depends on, with a rule for every node on every way there, in their order: where
// Gradients meets no operator without a rule. No way leads through nodes that are `refused`. Linear in the nodes.
std::vector<ValueId> DifferentiableFrom(const Model& model, ValueId loss, absl::Span<const ValueId> of,
                                        const absl::flat_hash_set<NodeId>& refused = {});

}  // namespace amp

#endif  // AMP_PASSES_TRAIN_DIFFERENTIATE_H_
