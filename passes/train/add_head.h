// A new Dense head for transfer learning: the model behind a tensor is dropped, and a seeded layer takes its place.
//
//   features = Conv (...)                       features = Conv (...)
//   y        = Gemm (Flatten (features), w) ->  logits = Gemm (Flatten (GlobalAveragePool (features)), head.weight,
//                                                              head.bias)
//
// A tensor [N, C, H, W] is averaged first; one [N, C] is read as it is. Weights are Glorot-uniform by the seed, the
// bias is 0. Nodes that nothing reads any more are removed, and so are their weights.
#ifndef AMP_PASSES_TRAIN_ADD_HEAD_H_
#define AMP_PASSES_TRAIN_ADD_HEAD_H_

#include "absl/status/statusor.h"
#include "ir/graph/graph.h"
#include "passes/train/step_settings.h"

namespace amp {

struct Head {
  ValueId weight = kNone, bias = kNone;
  ValueId logits = kNone;  // a graph output
};

// REQUIRES: types are inferred, and are again afterwards. Errors: kInvalidArgument for a tensor that the main graph
// does not have, or that is not float32 with a known number of channels; kDataLoss for control flow that is dropped.
absl::StatusOr<Head> AddHead(Model& model, const HeadSettings& settings);

}  // namespace amp

#endif  // AMP_PASSES_TRAIN_ADD_HEAD_H_
