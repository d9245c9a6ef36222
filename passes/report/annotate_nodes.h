// Decisions in the model itself: entries of each node's metadata_props, which viewers such as Netron show.
//
//   MatMul  ->  MatMul, metadata_props: amp.type = "float16", amp.why = "allowed: matrix work ..."
//
// From IR version 10 on nodes have metadata.
#ifndef AMP_PASSES_REPORT_ANNOTATE_NODES_H_
#define AMP_PASSES_REPORT_ANNOTATE_NODES_H_

#include "absl/types/span.h"
#include "ir/graph/graph.h"
#include "passes/report/report.h"

namespace amp {

// `ids`: the nodes that `reports` are about, in their order; the first report on a node counts. Nodes that are gone are
// left out. Raises the IR version to 10. REQUIRES: it is not below kInitializersNeedNoInput.
void AnnotateNodes(Model& model, absl::Span<const NodeId> ids, absl::Span<const NodeReport> reports);

// Removes what AnnotateNodes wrote, of this run or of an earlier one. No edit where there is nothing.
void RemoveAnnotations(Model& model);

}  // namespace amp

#endif  // AMP_PASSES_REPORT_ANNOTATE_NODES_H_
