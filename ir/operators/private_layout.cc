#include "ir/operators/private_layout.h"

#include "absl/strings/str_cat.h"
#include "ir/base/status.h"

namespace amp {

bool IsPrivateLayout(absl::string_view domain) { return domain == "com.microsoft.nchwc"; }

std::string DescribePrivateLayout(const Model& model) {
  size_t count = 0;
  NodeId first = kNone;
  for (const GraphId graph : model.AllGraphs()) {
    for (const NodeId id : model.NodesInOrder(graph)) {
      if (!IsPrivateLayout(model.node(id).domain())) continue;
      if (count++ == 0) first = id;
    }
  }
  if (count == 0) return "";
  return absl::StrCat(count, count == 1 ? " node" : " nodes", " of ", model.node(first).domain(), ", '",
                      Escaped(model.NodeLabel(first)),
                      "' first: ONNX Runtime laid the model out for one processor "
                      "(ORT_ENABLE_ALL); give it as it was before, or saved with ORT_ENABLE_EXTENDED");
}

}  // namespace amp
