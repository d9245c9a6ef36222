// Why each node is what it is, in words: the part of a report that --explain prints.
#ifndef AMP_PASSES_REPORT_EXPLAIN_NODES_H_
#define AMP_PASSES_REPORT_EXPLAIN_NODES_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "ir/functions/inline_functions.h"
#include "passes/classify/classify_nodes.h"
#include "passes/report/report.h"

namespace amp {

// The reason_kind of a call of a model-local function, and how its reason begins.
inline constexpr absl::string_view kFunctionCall = "function-call";
inline constexpr absl::string_view kCallStays = "call of a model-local function: left as it is";

// A model before the edits, and what is decided about it.
struct ModelToExplain {
  const Model& model;
  const NodeClasses& classes;
  const VertexGraph& graph;
  const Paint& paint;
  const std::string& opset_obstacle;  // a sentence, "" for none
  const std::string& target;
  const InlinedFunctions* inlined;  // may be null
  const std::vector<ReplacedNode>& replaced;
};

// One entry per node of every graph, in order, but for those that this run has made: what these took the place of comes
// in their stead, and what was folded into a node comes behind it.
std::vector<std::pair<NodeId, NodeReport>> ExplainNodes(const ModelToExplain& decided);

// The name of the class, or "cast" and "constant" for nodes that no list names, since what they do is decided by what
// they stand between.
std::string ShownClass(const Model& model, NodeId id, const Classification& classification);

}  // namespace amp

#endif  // AMP_PASSES_REPORT_EXPLAIN_NODES_H_
