// Entries of a model's, or of a node's, metadata_props by key.
#ifndef AMP_IR_GRAPH_METADATA_H_
#define AMP_IR_GRAPH_METADATA_H_

#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "ir/graph/graph.h"

namespace onnx {
class ModelProto;
}

namespace amp {

// The key of the states of a graph that does one step of training: see passes/train/step_metadata.h.
inline constexpr absl::string_view kStateKey = "amp.state";

// The first entry of that key.
std::optional<std::string> FindMetadata(const onnx::ModelProto& model, absl::string_view key);
std::optional<std::string> FindMetadata(const Model& model, absl::string_view key);
// Replaces the first entry of that key, or appends one.
void SetMetadata(Model& model, absl::string_view key, std::string value);
void RemoveMetadata(Model& model, absl::string_view key);

// Entries of one node, for models of IR version 10 and newer. A key that is not there is removed without an edit.
void AddNodeMetadata(Model& model, NodeId node, absl::string_view key, const std::string& value);
void RemoveNodeMetadata(Model& model, NodeId node, absl::string_view key);

}  // namespace amp

#endif  // AMP_IR_GRAPH_METADATA_H_
