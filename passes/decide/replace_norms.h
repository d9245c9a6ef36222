// Norms that are written out become one operator each, where something around them becomes low.
//
//   a = MatMul(x, w)                                              low
//   m = ReduceMean(a)   d = Sub(a, m)   ...   y = Add(t, shift)   float32, nine nodes
//     ->   y = LayerNormalization(a, scale, shift)                low in and out, statistics in float32
//
// A norm is replaced if its input, its result or a reader of its result becomes low in a decision that lets the nodes
// of all norms be low. That decision is made once, before any norm is replaced, so that their order does not count and
// a second rewrite finds nothing left to do. A rule by name for one of its nodes keeps a norm as it is.
#ifndef AMP_PASSES_DECIDE_REPLACE_NORMS_H_
#define AMP_PASSES_DECIDE_REPLACE_NORMS_H_

#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "ir/patterns/unit_operator.h"
#include "passes/decide/decide_rewrite.h"

namespace amp {

struct NormPlan {
  absl::flat_hash_set<ValueId> results;   // of the norms that are to be replaced, if the opset has their operator
  int lift_to = 0;                        // for those that become low; 0: the opset stays
  absl::flat_hash_set<ValueId> for_good;  // of the results: at the new opset the nodes cannot be put back
};

// Norms that read 16 bits through the model's own cast are replaced, too, if the opset rises from `opset_before`, the
// model's before any lift, to one with LayerNormalization: ONNX Runtime refuses them there as they are written. If one
// of them cannot be replaced, nothing is lifted for the sake of a norm. REQUIRES: types are inferred. Linear in the
// nodes, and one decision where there are norms at all.
absl::StatusOr<NormPlan> PlanNorms(const Model& model, const DecisionInputs& inputs, int opset_before);

struct ReplacedNorm {
  UnitOperator unit;
  std::string path;                // of the node that stands for all
  std::vector<std::string> nodes;  // paths of all that it stands for
  bool is_for_good = false;        // taking a rewrite back leaves it
};

// Replaces those of the plan; types are to be inferred again if there are any. REQUIRES: types are inferred, at the
// opset that the plan asked for if it was reached.
struct ReplacedNorms {
  std::vector<ReplacedNorm> norms;
  std::vector<std::string> constants;  // that went with those that can be put back, as bytes
};
ReplacedNorms ReplaceNorms(Model& model, const NormPlan& plan);

// A warning about a norm that reads 16 bits through the model's own cast and is still written out, where the opset rose
// from `opset_before` to one with LayerNormalization; empty where there is none. REQUIRES: types are inferred.
std::string WarnOfNormsOverOwnCasts(const Model& model, int opset_before);

// About norms beside low operators that stay written out because their operator is newer than the model's opset:
// "opset 23 has RMSNormalization, with float32 inside and float16 around, for 11 norms that are written out". Nothing
// for an opset that cannot be reached.
std::vector<std::string> HintAtNorms(const Model& model, const Decision& decision);

}  // namespace amp

#endif  // AMP_PASSES_DECIDE_REPLACE_NORMS_H_
