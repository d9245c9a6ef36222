// The algorithm of a model's training_info, as a graph that can be edited.
//
// A step of training runs the main graph and the algorithm's graph as one: the latter reads values of the former by
// name. That one graph is made here, and what became of the algorithm's part is put back.
#ifndef AMP_IR_GRAPH_TRAINING_ALGORITHM_H_
#define AMP_IR_GRAPH_TRAINING_ALGORITHM_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ir/graph/graph.h"

namespace amp {

bool HasTrainingInfo(const Model& model);

// A model of its own: nodes, initializers, inputs and outputs of the main graph, then those of the algorithm. It need
// not have the weights' payloads. Types are inferred. Errors: kDataLoss for several training_infos, and those of
// Model::Create.
absl::StatusOr<std::unique_ptr<Model>> CombineWithAlgorithm(const Model& model,
                                                            std::shared_ptr<const OpSignatures> signatures);

// Writes back what `combined`, which was made of `model` and edited, has more than the main graph: the algorithm's
// nodes, initializers and outputs, functions and imports. `bindings`: further initializers, and the outputs that are
// their next values. The main graph stays. REQUIRES: `combined` is committed.
void TakeAlgorithm(Model& model, const Model& combined, absl::Span<const std::pair<std::string, std::string>> bindings);

}  // namespace amp

#endif  // AMP_IR_GRAPH_TRAINING_ALGORITHM_H_
