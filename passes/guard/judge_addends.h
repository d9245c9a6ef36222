// Which constants that 16 bits cannot hold do no harm, because they are added to something that is far larger.
//
//   Conv (x, W, b)   b = [0.3, 1e-28, ...]            its dead element is nothing beside the others      -> harmless
//   MatMul (x, W) + 1e-9                              nothing beside a W of ordinary size                -> harmless
//   ReduceMean (x * x) + 1e-12                        nobody knows how small the mean is                 -> harmful
//   Log (MatMul (x, W) + 1e-9)                        is all that counts where the product is zero       -> harmful
//
// The error that counts is the constant's absolute one, measured against the largest of its own elements and of the
// weights of the matrix work, or of the scale of the norm, whose result it is added to.
#ifndef AMP_PASSES_GUARD_JUDGE_ADDENDS_H_
#define AMP_PASSES_GUARD_JUDGE_ADDENDS_H_

#include "absl/status/statusor.h"
#include "ir/base/convert.h"
#include "ir/graph/constant.h"
#include "passes/paint/paint_graph.h"

namespace amp {

class AddendJudge {
 public:
  AddendJudge(const Model& model, const IdVector<NodeId, NodeTraits>& traits, ConstantSurvey& survey)
      : model_(model), traits_(traits), survey_(survey) {}

  // Whether the constant that the node reads at `port` is added to something beside which its rounding errors are at
  // most `limit` of the whole. Errors: reading external data.
  absl::StatusOr<bool> IsHarmless(NodeId node, size_t port, const NarrowingStats& stats, double limit);

 private:
  absl::StatusOr<double> ScaleOfConstants(NodeId node);
  absl::StatusOr<double> ScaleBeside(NodeId node, size_t port);
  bool IsSmallSumFatal(NodeId node) const;

  const Model& model_;
  const IdVector<NodeId, NodeTraits>& traits_;
  ConstantSurvey& survey_;
};

}  // namespace amp

#endif  // AMP_PASSES_GUARD_JUDGE_ADDENDS_H_
