// Attributes of a node by name, so that passes read and write them without an ONNX header.
//
// Getters answer nothing (or the given fallback) when the attribute is absent, of another kind, or a reference to an
// attribute of the surrounding function. They do not know ONNX's default values: the caller names the default that
// holds at the opset in question. Setters replace an attribute of the same name, whatever its kind, and keep its place
// in the list and its description; they mark the model as edited.
#ifndef AMP_IR_GRAPH_ATTRIBUTES_H_
#define AMP_IR_GRAPH_ATTRIBUTES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ir/base/dtype.h"
#include "ir/graph/graph.h"

namespace amp {

// Any kind, references included.
bool HasAttribute(const Node& node, absl::string_view name);

std::optional<int64_t> GetInt(const Node& node, absl::string_view name);
std::optional<float> GetFloat(const Node& node, absl::string_view name);
std::optional<std::string> GetString(const Node& node, absl::string_view name);
std::optional<std::vector<int64_t>> GetInts(const Node& node, absl::string_view name);
std::optional<std::vector<float>> GetFloats(const Node& node, absl::string_view name);
std::optional<std::vector<std::string>> GetStrings(const Node& node, absl::string_view name);
// An element type stored as an integer (Cast.to). Nothing as well when the number names no type.
std::optional<DType> GetDType(const Node& node, absl::string_view name);
// Null when absent. Owned by the model's arena, valid until the attribute is edited.
const onnx::TensorProto* GetTensor(const Node& node, absl::string_view name);
const onnx::SparseTensorProto* GetSparseTensor(const Node& node, absl::string_view name);
// The graph that the attribute holds; kNone when absent.
GraphId GetBody(const Model& model, const Node& node, absl::string_view name);

int64_t GetInt(const Node& node, absl::string_view name, int64_t fallback);
float GetFloat(const Node& node, absl::string_view name, float fallback);
std::string GetString(const Node& node, absl::string_view name, absl::string_view fallback);

void SetInt(Model& model, NodeId node, absl::string_view name, int64_t value);
void SetFloat(Model& model, NodeId node, absl::string_view name, float value);
void SetString(Model& model, NodeId node, absl::string_view name, absl::string_view value);
void SetInts(Model& model, NodeId node, absl::string_view name, absl::Span<const int64_t> values);
void SetFloats(Model& model, NodeId node, absl::string_view name, absl::Span<const float> values);
void SetDType(Model& model, NodeId node, absl::string_view name, DType type);
// Copies the tensor into the attribute.
void SetTensor(Model& model, NodeId node, absl::string_view name, const onnx::TensorProto& tensor);
// The element type of the tensors in a type (Optional.type), however nested. No effect when there is no such attribute.
void SetInnerElementType(Model& model, NodeId node, absl::string_view name, DType type);
// Null when absent.
onnx::TensorProto* EditTensor(Model& model, NodeId node, absl::string_view name);
// Lets the attribute own `tensor`, which lives on the model's arena; nothing is copied.
void AdoptTensor(Model& model, NodeId node, absl::string_view name, onnx::TensorProto* tensor);
// The attribute as bytes, to be put back later; nothing when it is absent.
std::optional<std::string> SerializeAttribute(const Node& node, absl::string_view name);
// Puts such bytes back, or removes the attribute where there are none. False, and no effect, for bytes that are no
// valid attribute of this name (ir/file/validate_attribute.h) or one that holds graphs or external data.
bool RestoreAttribute(Model& model, NodeId node, absl::string_view name, const std::optional<std::string>& bytes);
// No effect when there is no such attribute. REQUIRES: none has the new name.
void RenameAttribute(Model& model, NodeId node, absl::string_view from, absl::string_view to);
// Returns whether there was one.
bool RemoveAttribute(Model& model, NodeId node, absl::string_view name);

}  // namespace amp

#endif  // AMP_IR_GRAPH_ATTRIBUTES_H_
