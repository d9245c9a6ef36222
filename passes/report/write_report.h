// Collects a Report while a rewrite goes on. Describes decisions in words; takes none.
#ifndef AMP_PASSES_REPORT_WRITE_REPORT_H_
#define AMP_PASSES_REPORT_WRITE_REPORT_H_

#include <string>
#include <vector>

#include "ir/functions/inline_functions.h"
#include "ir/functions/outline_functions.h"
#include "passes/classify/classify_nodes.h"
#include "passes/report/report.h"

namespace amp {

class ReportWriter {
 public:
  // The model before any edit; its types are inferred.
  void Begin(const Model& model, DType low, const std::string& target);
  // Nodes that something else has taken the place of, before those that are left are explained.
  void AddReplaced(const std::vector<ReplacedNode>& replaced) {
    for (const ReplacedNode& node : replaced) report_.replaced.push_back({{node.path}, node.how});
    gone_.insert(gone_.end(), replaced.begin(), replaced.end());
  }
  // One entry per node of every graph. Call once the painting stands, before it is applied.
  void ExplainNodes(const Model& model, const NodeClasses& classes, const VertexGraph& graph, const Paint& paint);
  // Adds what these nodes read and give. Call right behind ExplainNodes. `observed` may be null.
  void DescribeGraph(const Model& model, const ObservedValues* observed);
  void AddReplaced(ReplacedReport replaced) { report_.replaced.push_back(std::move(replaced)); }
  // Calls of model-local functions that were replaced before, and why the others stay.
  void AddFunctions(const InlinedFunctions& inlined);
  void AddOutlined(const OutlinedFunctions& outlined);
  // Which graph inputs and outputs stay float32 although they are released. Before the plan is applied.
  void AddIo(const Model& model, const VertexGraph& graph, const Paint& paint, const CastPlan& plan,
             const ReleasedIo& released);
  void AddCasts(const Model& model, const std::vector<InsertedCast>& casts);
  // Which of them --freeze-initializers would spare.
  void AdviseFreezing(const Model& model, const std::vector<InsertedCast>& casts);
  void AddRemovedCasts(const Model& model, const std::vector<NodeId>& erased);
  void AddWeights(std::vector<NarrowedWeight> weights) { report_.weights = std::move(weights); }
  // Why the opset that the low type needs was not reached; becomes advice, and part of the reasons that it explains.
  void SetOpsetObstacle(std::string obstacle);
  // Writes into each node's metadata why it is what it is.
  void Annotate(Model& model) const;
  void AddHints(const std::vector<std::string>& hints) {
    report_.hints.insert(report_.hints.end(), hints.begin(), hints.end());
  }
  Report Finish(const Model& model, bool changed);
  void AddAdvice(std::string advice) { report_.advice.push_back(std::move(advice)); }

 private:
  Report report_;
  std::vector<ReplacedNode> gone_;  // but listed among the nodes
  std::string opset_obstacle_;
  const InlinedFunctions* inlined_ = nullptr;
  std::vector<NodeId> node_ids_;                        // those of report_.nodes
  IdVector<NodeId, std::optional<size_t>> node_index_;  // into report_.nodes
};

}  // namespace amp

#endif  // AMP_PASSES_REPORT_WRITE_REPORT_H_
