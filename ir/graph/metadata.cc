#include "ir/graph/metadata.h"

#include <utility>

#include "absl/algorithm/container.h"
#include "onnx/onnx_pb.h"

namespace amp {

std::optional<std::string> FindMetadata(const onnx::ModelProto& model, absl::string_view key) {
  for (const auto& entry : model.metadata_props()) {
    if (entry.key() == key) return entry.value();
  }
  return std::nullopt;
}

std::optional<std::string> FindMetadata(const Model& model, absl::string_view key) {
  return FindMetadata(model.proto(), key);
}

void SetMetadata(Model& model, absl::string_view key, std::string value) {
  for (auto& entry : *model.EditProto().mutable_metadata_props()) {
    if (entry.key() != key) continue;
    entry.set_value(std::move(value));
    return;
  }
  auto* entry = model.EditProto().add_metadata_props();
  entry->set_key(std::string(key));
  entry->set_value(std::move(value));
}

void RemoveMetadata(Model& model, absl::string_view key) {
  if (!FindMetadata(model, key).has_value()) return;
  auto& entries = *model.EditProto().mutable_metadata_props();
  for (int i = entries.size(); i-- > 0;) {
    if (entries[i].key() == key) entries.DeleteSubrange(i, 1);
  }
}

void AddNodeMetadata(Model& model, NodeId node, absl::string_view key, const std::string& value) {
  auto* entry = model.EditProto(node).add_metadata_props();
  entry->set_key(std::string(key));
  entry->set_value(value);
}

void RemoveNodeMetadata(Model& model, NodeId node, absl::string_view key) {
  const auto& found = model.node(node).proto->metadata_props();
  if (absl::c_none_of(found, [&](const auto& entry) { return entry.key() == key; })) return;
  auto& entries = *model.EditProto(node).mutable_metadata_props();
  for (int i = entries.size(); i-- > 0;) {
    if (entries[i].key() == key) entries.DeleteSubrange(i, 1);
  }
}

}  // namespace amp
