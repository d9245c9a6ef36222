// The stages of a rewrite by name, and what each shows of itself (--print-after, --stop-after).
//
//   load      functions are inlined             guard    vetoes
//   infer     and its types                     paint    colours and reasons
//   lift      after raising the opset           casts    casts are in, weights still float32
//   classify  each node's class                 weights  low weights are in     fold   superfluous casts are out
#ifndef AMP_PASSES_REPORT_STAGES_H_
#define AMP_PASSES_REPORT_STAGES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "ir/base/reason.h"
#include "passes/classify/classify_nodes.h"
#include "passes/paint/paint_graph.h"

namespace amp {

enum class Stage { kLoad, kInfer, kLift, kClassify, kGuard, kPaint, kCasts, kWeights, kFold };

absl::string_view StageName(Stage stage);
std::vector<std::string> StageNames();  // in order
// kInvalidArgument, naming `flag`, with the known names and a suggestion.
absl::StatusOr<Stage> FindStage(absl::string_view flag, absl::string_view name);

// Why the model of that stage cannot be written.
Reason ObstacleToStopping(Stage stage);

// Texts of stages, each a line "---- after NAME" and what there is to see.
absl::StatusOr<std::string> ShowModel(Stage stage, Model& model);
std::string ShowTypes(const Model& model);
std::string ShowClasses(const Model& model, const NodeClasses& classes);
std::string ShowVetoes(const Model& model, const VertexGraph& graph, const std::vector<Veto>& vetoes);
std::string ShowPaint(const Model& model, const VertexGraph& graph, const Paint& paint);

}  // namespace amp

#endif  // AMP_PASSES_REPORT_STAGES_H_
