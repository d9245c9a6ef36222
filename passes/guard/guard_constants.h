// Guards of group "constants": constant operands that the low type cannot hold keep their operator high.
//
//   Add(scores, -3.4e38)   overflow: finite in float32, infinite in float16      -> vetoed
//   Where(mask, -inf, x)   a true infinity stays one                             -> passes
//   Add(variance, 1e-12)   vanishing scalar: becomes 0, or moves by more than 1% -> vetoed
//   MatMul(x, W) with a W of subnormals: relative L2 rounding error above 1%     -> vetoed
//   Conv(x, W, 1e-28)      added to what is far larger (judge_addends.h)                 -> passes
//   Clip(x, 0, 1e9), Softmax(Where(mask, x, -1e9))
//                          a bound or fill beyond the range saturates, which changes no low result -> noted
//
// A vetoed vertex behaves as if its operator were denied: it stays high, and the denial is carried forward.
#ifndef AMP_PASSES_GUARD_GUARD_CONSTANTS_H_
#define AMP_PASSES_GUARD_GUARD_CONSTANTS_H_

#include <functional>
#include <vector>

#include "ir/graph/constant.h"
#include "passes/paint/paint_graph.h"

namespace amp {

struct ConstantGuardOptions {
  double max_weight_error = 0.01;    // relative L2 rounding error of a weight
  double max_scalar_change = 0.01;   // relative change of an element of a small constant
  int64_t max_scalar_elements = 16;  // what counts as a small constant
  bool are_cast = false;             // at run time: what is beyond the range becomes infinite, and does not saturate
};

// Vetoes in the order of the vertices. Reads each constant once, however many readers it has. Errors: those of reading
// external data.
absl::StatusOr<std::vector<Veto>> GuardConstants(const Model& model, const VertexGraph& graph,
                                                 const IdVector<NodeId, NodeTraits>& traits, ConstantSurvey& survey,
                                                 const ConstantGuardOptions& options);

// Returns the fault of elements that would become a constant operand of that name; empty if there is none.
std::string JudgeElements(absl::string_view name, absl::Span<const float> elements, DType low,
                          const ConstantGuardOptions& options);

// A sentence for every constant that low nodes read although it overflows there: guards were off, or overruled by a
// name or a level. REQUIRES: types are still those that were painted. Errors: those of reading external data.
absl::StatusOr<std::vector<std::string>> DescribeOverflows(const Model& model, const VertexGraph& graph,
                                                           const Paint& paint, ConstantSurvey& survey);

}  // namespace amp

#endif  // AMP_PASSES_GUARD_GUARD_CONSTANTS_H_
