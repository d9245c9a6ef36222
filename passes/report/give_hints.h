// Hints for the user: changes of the model that would get more out of 16 bits. For the report; they decide nothing.
//
//   2 of 36 low matrix operators have sizes that waste Tensor Cores (neither a multiple of 8 nor, under 256, a power of
//   two): K = 30522 in 2 MatMul (head, ...; pad to 30528)
#ifndef AMP_PASSES_REPORT_GIVE_HINTS_H_
#define AMP_PASSES_REPORT_GIVE_HINTS_H_

#include <string>
#include <vector>

#include "passes/paint/paint_graph.h"

namespace amp {

// About sizes of low nodes; empty where all known ones are fine.
std::vector<std::string> HintAtDimensions(const Model& model, const VertexGraph& graph, const Paint& paint);

// About operators that would take the low type at a newer opset: "opset 22 would let 3 more nodes run in bfloat16:
// Conv, MaxPool"; where LiftOpset does not reach it, why they stay float32.
std::vector<std::string> HintAtOpset(const Model& model, const VertexGraph& graph, const Paint& paint);

}  // namespace amp

#endif  // AMP_PASSES_REPORT_GIVE_HINTS_H_
