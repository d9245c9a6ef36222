// Makes one model-local function of the nodes that a call was inlined into: OutlineFunctions' inner half.
//
// The function is written in the names of the one that it comes from, as far as the nodes stem from there; what a
// rewrite added is named after what it does. Reads from outside become the inputs that they were, and inputs of their
// own where a rewrite reads something else there.
#ifndef AMP_IR_FUNCTIONS_FUNCTION_MAKER_H_
#define AMP_IR_FUNCTIONS_FUNCTION_MAKER_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "ir/base/unique_names.h"
#include "ir/file/weights.h"
#include "ir/functions/inline_origins.h"

namespace google::protobuf {
class Arena;
}
namespace onnx {
class AttributeProto;
class FunctionProto;
class GraphProto;
class ModelProto;
class NodeProto;
class TensorProto;
}  // namespace onnx

namespace amp {

// One call's nodes on their way into a function. All references must outlive this object.
class FunctionMaker {
 public:
  using Nodes = std::vector<onnx::NodeProto*>;
  using NameSet = absl::flat_hash_set<std::string>;
  // The parts of the model that the making of a function depends on. Right after inlining there are none.
  struct Surroundings {
    const onnx::ModelProto* model = nullptr;
    absl::flat_hash_map<std::string, CallId> calls;                          // of inserted nodes, by name
    absl::flat_hash_map<std::string, const onnx::TensorProto*> new_tensors;  // initializers that lifting made
    NameSet values;                                                          // that are not the work of the rewrite
    NameSet low_values;
    Weights* weights = nullptr;
  };

  using CallForms = absl::flat_hash_map<std::string, NodeForm>;  // by name
  // `calls`: what inner calls, which were made already, are in the names of this function.
  FunctionMaker(const InlineOrigins& origins, const CallForms& calls, const Surroundings& around, CallId call,
                google::protobuf::Arena* arena);

  // Takes the nodes' contents. `live`: what is read outside of them.
  void Make(const Nodes& nodes, const NameSet& live);

  onnx::FunctionProto* function() { return function_; }
  // All that matters of the function but its name.
  std::string Key() const;
  bool touches_low() const { return touches_low_; }
  // Nodes that a rewrite inserted: what they were called, what they are called in here, and what they read in here.
  struct InsertedNode {
    std::string before, name, value;
  };
  const std::vector<InsertedNode>& inserted() const { return inserted_; }

  // The call of what was made, in the model's names. `origin`: of the call; its outputs follow.
  void WriteCall(const std::string& name, onnx::NodeProto* call, NodeForm* origin) const;
  // The call of the original function.
  void WriteOriginalCall(onnx::NodeProto* call) const;

 private:
  using Hint = std::pair<std::string, std::string>;  // value, input of the function that was read there

  const NodeForm* Find(const onnx::NodeProto& node) const;
  std::string WithoutLabel(const std::string& name, absl::string_view otherwise) const;

  void Declare(const Nodes& nodes);

  // Which input of the function a read stands for; "" where that cannot be told.
  std::string HintOf(const NodeForm* origin, int port) const;

  void BindRead(const std::string& value, const std::string& hint);
  void AddInput(const std::string& value, const std::string& hint);
  // A read of something that the function did not read there: an input all the same if it is known as one.
  void BindUnhinted(const std::string& value);

  void BindInputs(const Nodes& nodes);
  // Visits the reads of a node and its bodies; the hints are HintOf's.
  void ForEachHintedRead(const onnx::NodeProto& node,
                         absl::FunctionRef<void(const std::string& value, const std::string& hint)> visit) const;

  // First what had a name in the original, outside in, then the rest in order.
  void NameValues(const Nodes& nodes);
  void NameOutputs(const onnx::NodeProto& node);
  void NameBodies(const onnx::NodeProto& node);
  void NameMade(const onnx::NodeProto& node);

  std::string InnerName(const std::string& value, const std::string& hint) const;

  void ListOutputs(const Nodes& nodes, const NameSet& live);

  void EmbedTensors();

  void Rename(onnx::NodeProto& node);

  void RenameGraph(onnx::GraphProto& graph);

  const onnx::AttributeProto* BoundValue(const std::string& name) const;

  // An attribute that still has the value that the call passed refers to it again.
  void RestoreReferences(onnx::NodeProto& node, const NodeForm& origin);

  void Finish();

  // The function's own imports at the model's versions, and what its nodes need beyond them.
  void ImportDomains();

  void StartCall(onnx::NodeProto* call) const;

  const InlineOrigins& origins_;
  const CallForms& calls_;
  const Surroundings& around_;
  const CallOrigin& call_;
  CallId call_id_;
  onnx::NodeProto* call_node_;
  std::string label_;  // of the call
  const onnx::FunctionProto& original_;
  absl::flat_hash_map<std::string, int> inputs_, call_outputs_;  // of the original: name -> position
  onnx::FunctionProto* function_;
  UniqueNames names_;                                    // inside the function
  std::map<std::string, std::string> inner_;             // what the nodes define: value -> the function's name
  std::map<Hint, std::string> reads_;                    // what they read from outside: -> the function's name
  absl::flat_hash_map<std::string, std::string> bound_;  // input of the function -> value
  absl::flat_hash_map<std::string, std::vector<int>> inputs_for_;  // value -> inputs that it is or was passed for
  absl::flat_hash_map<std::string, std::string> extra_input_of_;   // value -> the first of its extra inputs
  std::vector<std::pair<std::string, std::string>> extra_inputs_;  // the function's name, value
  std::vector<std::pair<std::string, std::string>> outputs_;       // the original's name, value ("": nobody wants it)
  std::vector<InsertedNode> inserted_;
  std::vector<std::string> extra_hints_, extra_outputs_, embedded_, unhinted_;
  bool uses_attributes_ = false, touches_low_ = false, has_converted_ = false;
};

}  // namespace amp

#endif  // AMP_IR_FUNCTIONS_FUNCTION_MAKER_H_
