// Which BatchNormalizations that do not train may be replaced (ir/patterns/batch_norm.h), and why the others may not.
#ifndef AMP_PASSES_DECIDE_SURVEY_BATCH_NORMS_H_
#define AMP_PASSES_DECIDE_SURVEY_BATCH_NORMS_H_

#include <string>

#include "absl/container/flat_hash_map.h"
#include "ir/graph/graph.h"
#include "passes/decide/rewrite_settings.h"
#include "passes/paint/vertex_graph.h"

namespace amp {

// Norms in neither list stay what they are, in any type. Statistics that callers may override are cast where they are
// used, since float32 nodes between low ones move more bytes than a few casts of vectors.
struct BatchNorms {
  NodeSet replaceable;                                    // where they become low
  absl::flat_hash_map<NodeId, std::string> stay_float32;  // and why

  bool Has(NodeId node) const { return replaceable.contains(node) || stay_float32.contains(node); }
};

// REQUIRES: types are inferred. Linear in the nodes.
BatchNorms SurveyBatchNorms(const Model& model, const RewriteSettings& settings);

}  // namespace amp

#endif  // AMP_PASSES_DECIDE_SURVEY_BATCH_NORMS_H_
