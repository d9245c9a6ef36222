#include "passes/report/annotate_nodes.h"

#include <algorithm>

#include "ir/graph/metadata.h"

namespace amp {
namespace {

constexpr int kFirstIrVersion = 10;  // with metadata of nodes
constexpr absl::string_view kTypeKey = "amp.type", kWhyKey = "amp.why";

}  // namespace

void AnnotateNodes(Model& model, absl::Span<const NodeId> ids, absl::Span<const NodeReport> reports) {
  RemoveAnnotations(model);
  if (model.ir_version() < kFirstIrVersion) model.SetIrVersion(kFirstIrVersion);
  IdVector<NodeId, bool> is_done(model.num_nodes());
  for (size_t i = 0; i < ids.size(); ++i) {
    if (model.node(ids[i]).erased || is_done[ids[i]]) continue;
    is_done[ids[i]] = true;
    AddNodeMetadata(model, ids[i], kTypeKey, reports[i].type);
    AddNodeMetadata(model, ids[i], kWhyKey, reports[i].reason);
  }
}

void RemoveAnnotations(Model& model) {
  for (const NodeId node : model.AllNodes()) {
    RemoveNodeMetadata(model, node, kTypeKey);
    RemoveNodeMetadata(model, node, kWhyKey);
  }
}

}  // namespace amp
