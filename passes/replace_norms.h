// Norms that are written out become one operator each, where something around them becomes low.
//
//   a = MatMul(x, w)                                              low
//   m = ReduceMean(a)   d = Sub(a, m)   ...   y = Add(t, shift)   float32, nine nodes
//     ->   y = LayerNormalization(a, scale, shift)                low in and out, statistics in float32
//
// What becomes low is asked of a decision in which the nodes of these norms may: what is inside them keeps its float32
// in the operator. So whether one is replaced does not depend on the others' being so, and a second rewrite finds
// nothing left to do. A rule by name for one of its nodes keeps a norm as it is.
#ifndef AMP_PASSES_REPLACE_NORMS_H_
#define AMP_PASSES_REPLACE_NORMS_H_

#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "ir/patterns/unit_operator.h"
#include "passes/decide_rewrite.h"

namespace amp {

struct NormPlan {
  absl::flat_hash_set<ValueId> results;  // of the norms that are to be replaced, if the opset has their operator
  int lift_to = 0;                       // for those that become low; 0: the opset stays
};

// REQUIRES: types are inferred. Linear in the nodes, and one decision where there are norms at all.
absl::StatusOr<NormPlan> PlanNorms(const Model& model, const DecisionInputs& inputs);

struct ReplacedNorm {
  UnitOperator unit;
  std::string path;                // of the node that stands for all
  std::vector<std::string> nodes;  // paths of all that it stands for
};

// Replaces those of the plan; types are to be inferred again if there are any. REQUIRES: types are inferred, at the
// opset that the plan asked for if it was reached.
struct ReplacedNorms {
  std::vector<ReplacedNorm> norms;
  std::vector<std::string> constants;  // that went with them, as bytes
};
ReplacedNorms ReplaceNorms(Model& model, const NormPlan& plan);

}  // namespace amp

#endif  // AMP_PASSES_REPLACE_NORMS_H_
