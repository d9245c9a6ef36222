// The plan of a rewrite, decided before anything is edited: classes, guards' vetoes, colours.
#ifndef AMP_PASSES_DECIDE_DECIDE_REWRITE_H_
#define AMP_PASSES_DECIDE_DECIDE_REWRITE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ir/graph/check_types.h"
#include "ir/graph/constant.h"
#include "passes/classify/classify_nodes.h"
#include "passes/decide/release_io.h"
#include "passes/decide/rewrite_settings.h"
#include "passes/decide/survey_batch_norms.h"
#include "passes/paint/paint_graph.h"

namespace amp {

struct Decision {
  NodeClasses classes;
  VertexGraph graph;
  std::vector<Veto> vetoes = {};
  Paint paint = {};
  ReleasedIo released;
  // At which low operators keep float32 statistics; 0: the model's is fine, or the settings leave it alone.
  int opset = 0;

  bool ConvertsNothing() const;
};

// A node that stays float32 as if a guard said so.
struct HeldNode {
  NodeId node = kNone;
  std::string why;
};

// The inputs of the decision beside the model.
struct DecisionInputs {
  const OpLists& lists;
  const RewriteSettings& settings;
  const ReleasedValues& released;
  const std::vector<TypeFault>& faults;  // of the model
  ConstantSurvey& survey;
  const BatchNorms& batch_norms;
  absl::Span<const HeldNode> held = {};
  // Nodes that may become low whatever lists and guards say of them: they are to be replaced by an operator that may.
  absl::Span<const NodeId> freed = {};
};

// The allowed nodes that would be low if one guard, and nothing else, did not keep them float32.
NodeSet NodesHeldByOneGuard(const Model& model, const Decision& decision);

// REQUIRES: types are inferred. Errors: those of reading external data. Linear in nodes and uses, but for rules by
// name.
absl::StatusOr<Decision> Decide(const Model& model, const DecisionInputs& inputs);

}  // namespace amp

#endif  // AMP_PASSES_DECIDE_DECIDE_REWRITE_H_
