// The values that the nodes of a report read and give: what its HTML form draws as a graph.
//
//   MatMul(x, w) -> y; Relu(y) -> z      values x, w, y, z; nodes {inputs 0, 1; outputs 2}, {inputs 2; outputs 3}
//
// A node that this run has inserted is in no report. Its readers are shown as readers of what it reads.
#ifndef AMP_PASSES_REPORT_REPORT_GRAPH_H_
#define AMP_PASSES_REPORT_REPORT_GRAPH_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "ir/base/observed_values.h"
#include "ir/base/packed_lists.h"
#include "ir/graph/graph.h"

namespace amp {

struct ReportValue {
  int64_t num_bytes = 0;  // of its elements before any edit; 0: not known
  uint32_t type = 0;      // into ReportGraph::types
  bool is_constant = false;
};

// A report lives as long as the result of a rewrite, so this takes little: about 100 bytes for a node and its value.
struct ReportGraph {
  struct Bodies {
    size_t node = 0;                        // of the report
    std::vector<uint32_t> inputs, outputs;  // what the node gives the graphs that it holds, and they give it
  };
  std::vector<ReportValue> values;
  PackedTexts value_names;                                 // one for each value
  std::vector<std::string> types;                          // TypeText, before any edit: "float32[1,3,N,224]"
  std::vector<std::pair<size_t, ObservedValue>> observed;  // of values, in runs on a user's data
  // Into `values`, one list for each node of the report; ports that are absent are left out.
  PackedLists<uint32_t> node_inputs, node_outputs;
  std::vector<Bodies> bodies;             // of the nodes that hold graphs
  std::vector<uint32_t> inputs, outputs;  // of the main graph
  // For each node the name of its first output in the rewritten model; "" where it has none.
  PackedTexts first_outputs;
  IdVector<ValueId, uint32_t> index;  // of the model's values into `values`; values.size() and more: it has none
};

// `nodes`: those of the report, in its order; one that is there twice is drawn once. `observed` may be null. Linear in
// the number of ports.
ReportGraph DescribeGraph(const Model& model, absl::Span<const NodeId> nodes, const ObservedValues* observed);

}  // namespace amp

#endif  // AMP_PASSES_REPORT_REPORT_GRAPH_H_
