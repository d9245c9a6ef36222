// Chooses the opset that a rewrite needs before it is known which operators become low. What those need is in
// passes/decide/decide_rewrite.h.
//
//   --opset N           exactly that, or an error
//   auto, bfloat16      where an operator that lists let become low takes it: Conv from 22 on, MatMul from 13 on
//   auto                where a Cast to the low type is, if an operator of another domain takes that type
#ifndef AMP_PASSES_DECIDE_CHOOSE_OPSET_H_
#define AMP_PASSES_DECIDE_CHOOSE_OPSET_H_

#include "absl/status/statusor.h"
#include "ir/base/reason.h"
#include "ir/graph/graph.h"
#include "passes/classify/op_lists.h"
#include "passes/decide/rewrite_settings.h"

namespace amp {

struct OpsetPlan {
  int import = 0;                    // an import that the model lacks; 0 for none
  int lift_to = 0;                   // at most what adapters reach; 0: the opset stays
  Reason obstacle = Reason::None();  // why what was wanted is not reached
};

// REQUIRES: types are inferred. Errors: kInvalidArgument, a version asked for that is below the model's or that no
// adapter reaches.
absl::StatusOr<OpsetPlan> ChooseOpset(const Model& model, const OpLists& lists, const RewriteSettings& settings);

// Towards `wanted`. Where adapters do not reach it, as far as they do if that lets an allowed operator run low.
OpsetPlan PlanLift(const Model& model, const OpLists& lists, const RewriteSettings& settings, int wanted);

}  // namespace amp

#endif  // AMP_PASSES_DECIDE_CHOOSE_OPSET_H_
