#include "runtime/plan/fold_batch_norms.h"

#include <optional>
#include <vector>

#include "ir/base/status.h"
#include "ir/graph/infer.h"
#include "ir/patterns/batch_norm.h"
#include "ir/patterns/linear_producer.h"
#include "ir/patterns/replace_batch_norm.h"

namespace amp {

absl::Status FoldBatchNorms(Model& model) {
  std::vector<NodeId> norms;
  for (const NodeId id : model.AllNodes()) {
    if (IsInferenceNorm(model, id) && !HasOverridableStatistics(model, id)) norms.push_back(id);
  }
  bool has_folded = false;
  for (const NodeId norm : norms) {
    if (ObstacleToScaleAndShift(model, norm)) continue;
    const auto producer = FindLinearProducer(model, model.node(norm).Input(0), norm);
    if (!producer.has_value() || !producer->takes_addend) continue;
    const std::optional<ScaleAndShift> formula = ReadScaleAndShift(model, norm);
    if (!formula.has_value()) continue;
    AMP_ASSIGN_OR_RETURN(const FoldedConstants folded, Fold(model, *producer, *formula));
    FoldInto(model, *producer, norm, folded);
    has_folded = true;
  }
  if (!has_folded) return absl::OkStatus();
  model.SetOpset("", model.opset(""));  // looks schemas up
  InferTypes(model);
  return absl::OkStatus();
}

}  // namespace amp
