// Nodes at the end of the main graph, for passes that write whole computations.
//
//   NodeAppender append(model, "gradient");
//   const ValueId sum = append.Add("ReduceSum", {x, append.Int64s({0, 1})}, {{"keepdims", int64_t{0}}});
//
// Every node has a name, and its first output the same one: "gradient/ReduceSum", made unique. Constants are Constant
// nodes, one per content. Types of new values are for inference to find, but those of constants.
#ifndef AMP_IR_GRAPH_APPEND_NODES_H_
#define AMP_IR_GRAPH_APPEND_NODES_H_

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ir/graph/graph.h"

namespace amp {

using NewAttribute = std::variant<int64_t, float, std::string, DType, std::vector<int64_t>, std::vector<float>>;
using NewAttributes = std::vector<std::pair<absl::string_view, NewAttribute>>;

class NodeAppender {
 public:
  // `model` must outlive this. What is appended by others meanwhile stays where it is.
  NodeAppender(Model& model, std::string prefix) : model_(model), prefix_(std::move(prefix)) {}

  Model& model() { return model_; }
  const Model& model() const { return model_; }
  // Sets the beginning of nodes' names from now on.
  void SetPrefix(std::string prefix) { prefix_ = std::move(prefix); }

  // The node's only output; kNone among `inputs` stands for an absent one.
  ValueId Add(absl::string_view op_type, std::vector<ValueId> inputs, const NewAttributes& attributes = {});
  // All outputs of a node of any domain.
  std::vector<ValueId> AddMany(absl::string_view domain, absl::string_view op_type, std::vector<ValueId> inputs,
                               size_t num_outputs, const NewAttributes& attributes = {});

  ValueId Int64(int64_t value);                        // a scalar
  ValueId Int64s(const std::vector<int64_t>& values);  // of rank 1
  ValueId Bool(bool value);
  // A scalar of a float type, or, where the type is int64 or int32, of that.
  ValueId Scalar(double value, DType type);

 private:
  NodeId AddNode(absl::string_view domain, absl::string_view op_type, std::vector<ValueId> inputs, size_t num_outputs);
  ValueId AddConstant(const std::string& key, onnx::TensorProto* tensor);

  Model& model_;
  std::string prefix_;
  absl::flat_hash_map<std::string, ValueId> constants_;
};

// States that the value is a tensor of this type and shape, where inference cannot know: results of function calls.
void StateType(Model& model, ValueId value, DType type, const std::vector<int64_t>& dims);

}  // namespace amp

#endif  // AMP_IR_GRAPH_APPEND_NODES_H_
