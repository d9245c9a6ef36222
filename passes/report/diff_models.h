// The changes of a rewrite, as a line diff over nodes and initializers.
//
//   - MatMul_3: MatMul(x:float32[1,64], W:float32[64,64]) -> y:float32[1,64]
//   + x_to_float16: Cast(x:float32[1,64]) -> x_to_float16:float16[1,64]
//   + MatMul_3: MatMul(x_to_float16:float16[1,64], W:float16[64,64]) -> y:float16[1,64]
#ifndef AMP_PASSES_REPORT_DIFF_MODELS_H_
#define AMP_PASSES_REPORT_DIFF_MODELS_H_

#include <string>
#include <utility>
#include <vector>

#include "ir/graph/graph.h"

namespace amp {

// The initializers and nodes of all graphs, in order; the ids tell which line is whose across edits.
struct ModelListing {
  struct Line {
    std::pair<NodeId, ValueId> id;  // a node, or an initializer
    std::string text;
  };
  std::vector<Line> lines;
};

ModelListing ListModel(const Model& model);

// Removed lines with "- ", added ones with "+ ", a changed line as both; unchanged lines are left out.
std::string DiffListings(const ModelListing& before, const ModelListing& after);

}  // namespace amp

#endif  // AMP_PASSES_REPORT_DIFF_MODELS_H_
