// The decisions as an overlay for Model Explorer, which colours the nodes of the rewritten model by it.
//
//   {"name": "amp-rewrite: float16", "results": {"y": {"value": "float16: seeded", "bgColor": "#dce9fd"}}}
//
// The format is that of the package's GraphNodeData. Keys are the names of nodes' first outputs.
#ifndef AMP_TOOLS_REPORT_NODE_DATA_H_
#define AMP_TOOLS_REPORT_NODE_DATA_H_

#include <string>

#include "passes/report/report.h"

namespace amp {

// A report without a graph has no results. Tested by tests/tools/report/node_data_test.cc.
std::string NodeDataJson(const Report& report);

}  // namespace amp

#endif  // AMP_TOOLS_REPORT_NODE_DATA_H_
