// The model in memory: topology in small structs, payload in the protobuf message that was loaded.
//
//   Model ── arena: ModelProto (attributes, doc strings, metadata, unknown fields: untouched unless edited)
//     ├─ weights: where the bytes of its tensors are, in the message or not
//     ├─ graphs[0] = main graph, graphs[i] = If / Loop / Scan bodies (and graphs hanging on any other attribute)
//     ├─ nodes[], values[]  addressed by ids that stay valid for the life of the model
//     └─ a Value's use list holds its uses in inner scopes too
//
// Every edit goes through the methods of Model, which keep topology and message in step, except for the order of nodes
// and the list of initializers, which Commit() writes back once. Loading and committing without an edit changes
// nothing. A const Model hands out nothing that can be changed, messages included. Not thread-safe; distinct models are
// independent.
#ifndef AMP_IR_GRAPH_GRAPH_H_
#define AMP_IR_GRAPH_GRAPH_H_

#include <cstdint>
#include <experimental/propagate_const>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ir/base/dtype.h"
#include "ir/base/filtered.h"
#include "ir/base/ids.h"
#include "ir/base/unique_names.h"
#include "ir/file/weights.h"
#include "ir/schema/operator_table.h"

namespace google::protobuf {
class Arena;
}
namespace onnx {
class GraphProto;
class ModelProto;
class NodeProto;
class SparseTensorProto;
class TensorProto;
class TypeProto;
class TypeProto_Tensor;
}  // namespace onnx

namespace amp {

class OpSchema;
class OpSignatures;

using NodeId = Id<struct NodeTag>;
using ValueId = Id<struct ValueTag>;
using GraphId = Id<struct GraphTag>;
using CallId = Id<struct CallTag>;  // of a call that was inlined
inline constexpr GraphId kMainGraph(0);
// Below this IR version every initializer is listed as a graph input although it is a constant.
inline constexpr int kInitializersNeedNoInput = 4;

// A message on the model's arena: as const as the struct that it is reached through. Nothing is owned.
template <typename Message>
using OnArena = std::experimental::propagate_const<Message*>;

// One place where a value is read: input `port` of `node`, or, with node == kNone, output `port` of graph `graph`.
struct Use {
  NodeId node = kNone;
  size_t port = 0;
  GraphId graph = kMainGraph;
  bool IsGraphOutput() const { return node == kNone; }
  bool IsModelOutput() const { return node == kNone && graph == kMainGraph; }
  bool operator==(const Use&) const = default;
};

struct Value {
  std::string name;
  GraphId graph = kMainGraph;  // the scope that defines it
  NodeId producer = kNone;     // kNone for graph inputs and initializers
  size_t producer_port = 0;
  bool is_graph_input = false;
  bool is_tensor = false;            // type known and a dense tensor
  bool is_constant_default = false;  // initializer that is also an input (overridable from IR version 4 on)
  bool is_training_state = false;    // initializer that training_info reads or binds: other graphs rely on its type
  DType dtype = DType::kUndefined;   // element type of a tensor, when known
  OnArena<onnx::TypeProto> type = nullptr;  // null when nothing is known
  OnArena<onnx::TensorProto> initializer = nullptr;
  std::vector<Use> uses;

  bool IsInitializer() const { return initializer != nullptr; }
};

struct Node {
  OnArena<onnx::NodeProto> proto = nullptr;
  GraphId graph = kMainGraph;
  NodeId prev = kNone, next = kNone;  // neighbours in the graph's order
  const Operator* op = nullptr;       // its row in the table, by domain and name; never null in a model
  const OpSchema* schema = nullptr;   // null: unknown operator, fits no signature, or calls a model-local function
  bool inserted = false;              // made by this run
  bool erased = false;
  CallId call = kNone;                              // that it was inlined from
  int32_t index = 0;                                // position in the file; inserted nodes: that of their anchor
  int32_t ordinal = 0;                              // among the graph's nodes of the same operator that have no name
  absl::InlinedVector<ValueId, 4> inputs, outputs;  // kNone where an optional one is absent
  std::vector<GraphId> bodies;

  // Returns the value that a port reads or gives; kNone if it is absent: without a name, or behind the last one.
  ValueId Input(size_t port) const { return port < inputs.size() ? inputs[port] : kNone; }
  ValueId Output(size_t port) const { return port < outputs.size() ? outputs[port] : kNone; }
  // The values of ports that are not absent, in order.
  auto PresentInputs() const { return Filtered(inputs.begin(), inputs.end(), IsPresent); }
  auto PresentOutputs() const { return Filtered(outputs.begin(), outputs.end(), IsPresent); }
  // Whether its operator, by domain and name, has the role. For nodes that may call functions see RolesOf
  // (ir/operators/operator_roles.h).
  bool Has(Role role) const { return op->Has(role); }
  absl::string_view op_type() const;
  absl::string_view domain() const;  // "" for ai.onnx
  absl::string_view name() const;

 private:
  static bool IsPresent(ValueId value) { return value != kNone; }
};

// A call of a model-local function that was inlined.
struct InlinedCall {
  CallId parent = kNone;         // the call whose function held this one
  std::string domain, function;  // "" for ai.onnx
  std::string label;             // Model::NodeLabel of the call, and what the names of its nodes begin with
  absl::flat_hash_map<std::string, std::string> facts;  // its attributes that are scalars (ir/operators/node_facts.h)

  std::string FunctionName() const;  // "my.domain::Block"
};

struct Graph {
  OnArena<onnx::GraphProto> proto = nullptr;
  NodeId owner = kNone;  // the node whose attribute holds this graph; kNone for the main graph
  bool edited = false;
  NodeId first = kNone, last = kNone;
  std::vector<ValueId> inputs, outputs, initializers;
  absl::flat_hash_map<std::string, ValueId> names;  // values defined in this scope
};

// The tensor type inside sequences and optionals, however nested; null if there is none.
onnx::TypeProto_Tensor* InnermostTensor(onnx::TypeProto* type);
const onnx::TypeProto_Tensor* InnermostTensor(const onnx::TypeProto* type);

// Element type of a tensor, or of the tensors in a sequence or optional, however nested; kUndefined when not known.
DType ElementType(const Value& value);

class Model {
 public:
  // Takes a message that passed ValidateModel (ir/file/validate.h). Errors: duplicate or undefined names, cycles, both
  // kDataLoss with the node named. Unsorted but acyclic graphs are sorted stably and noted in warnings(). `signatures`
  // are the types of operators that ONNX does not define; null: the built-in ones. `weights` know where external data
  // are; without any they may be left out.
  static absl::StatusOr<std::unique_ptr<Model>> Create(std::unique_ptr<google::protobuf::Arena> arena,
                                                       onnx::ModelProto* proto,
                                                       std::shared_ptr<const OpSignatures> signatures = nullptr,
                                                       Weights weights = {});
  ~Model();
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  const onnx::ModelProto& proto() const { return *proto_; }
  // The messages for saving and printing, which change them for a while and put everything back: no edit.
  onnx::ModelProto& LendProto() { return *proto_; }
  onnx::GraphProto& LendProto(GraphId graph) { return *mutable_graph(graph).proto; }
  google::protobuf::Arena* arena() { return arena_.get(); }
  const Weights& weights() const { return weights_; }
  Weights& weights() { return weights_; }
  // The arena, with the message on it; the model is of no use any more. REQUIRES: no weights are to be converted yet.
  std::unique_ptr<google::protobuf::Arena> ReleaseArena();

  size_t num_nodes() const { return nodes_.size(); }
  size_t num_values() const { return values_.size(); }
  size_t num_graphs() const { return graphs_.size(); }
  const Node& node(NodeId id) const { return nodes_[id]; }
  // kNone, an absent input or output, is a value without name, type, producer and uses.
  const Value& value(ValueId id) const { return id == kNone ? AbsentValue() : values_[id]; }
  const Graph& graph(GraphId id) const { return graphs_[id]; }

  // The live nodes of all graphs, the lowest id first. Nodes that are inserted during the walk are left out, and so are
  // those that are erased before it comes to them.
  auto AllNodes() const {
    return Filtered(nodes_.ids().begin(), nodes_.ids().end(), [this](NodeId id) { return !node(id).erased; });
  }
  // The values that the model has now; a walk leaves out those that are added during it.
  IdRange<ValueId> AllValues() const { return values_.ids(); }
  IdRange<GraphId> AllGraphs() const { return graphs_.ids(); }
  // The graph's live nodes in order.
  std::vector<NodeId> NodesInOrder(GraphId graph) const;

  // Version of the operator set of `domain` ("" = ai.onnx) that the model imports; 0 if none.
  int opset(absl::string_view domain) const;
  // Writes the import, a new one where there is none, and looks every node's schema up again.
  void SetOpset(absl::string_view domain, int version);
  int ir_version() const;
  void SetIrVersion(int version);

  // Name for messages, rules and reports: the node's name, else "Conv#2" for the third Conv without a name. Nodes that
  // a rewrite inserts have names, so that the label stays what it was. See ir/graph/node_paths.h for one that is
  // unique.
  std::string NodeLabel(NodeId id) const;
  bool IsCallOfFunction(NodeId id) const;  // of a model-local function
  // The calls that nodes were inlined from (MarkCalls, ir/functions/inline_functions.h), outer ones first.
  const IdVector<CallId, InlinedCall>& calls() const { return calls_; }
  const InlinedCall& call(CallId id) const { return calls_[id]; }
  bool IsWithinCall(NodeId id, CallId call) const;  // directly or through other calls
  // The signatures of an operator that ONNX does not define, in the order to try them. Until types are inferred, the
  // node's schema is the first one; then the one that it fits, or null.
  absl::Span<const std::shared_ptr<const OpSchema>> SignaturesOf(NodeId id) const;
  void ChooseSignature(NodeId id, const OpSchema* schema) { mutable_node(id).schema = schema; }
  bool IsGraphOutput(ValueId id) const;  // of the main graph or a body
  bool IsModelOutput(ValueId id) const;  // of the main graph
  // The value as a dense constant: an initializer that neither a caller nor training_info can override, or the output
  // of a Constant node.
  bool IsConstant(ValueId id) const;

  // A name that no value or node of any scope has: `wanted`, else `wanted_1`, `wanted_2` ... Reserved at once.
  std::string UniqueName(absl::string_view wanted) { return names_.Make(wanted); }

  // ---- edits (graph_edits.cc)
  // The node's message, for its attributes (ir/graph/attributes.h); operator, inputs and outputs are edited with the
  // methods below.
  onnx::NodeProto& EditProto(NodeId node) {
    MarkEdited(mutable_node(node).graph);
    return *mutable_node(node).proto;
  }
  // The whole message, for what no method below edits: metadata and functions.
  onnx::ModelProto& EditProto();
  // The message of an initializer, for its payload.
  onnx::TensorProto& EditInitializer(ValueId value);
  // Its schema is the next SetOpset's to find.
  void SetOperator(NodeId node, absl::string_view domain, absl::string_view op_type);
  struct NewNode {
    absl::string_view op_type;
    absl::string_view domain = "";
    std::string name;  // unique already
    std::vector<ValueId> inputs;
    std::vector<std::string> outputs;  // unique already
  };
  void SetCalls(IdVector<CallId, InlinedCall> calls) { calls_ = std::move(calls); }
  void SetCall(NodeId node, CallId call) { mutable_node(node).call = call; }  // no edit of the message
  // Inserts into `graph` right after `anchor` (kNone: at the front). New outputs have unknown types.
  NodeId InsertAfter(GraphId graph, NodeId anchor, const NewNode& spec);
  // Takes a node without bodies to the front of a graph inside its own, where all its readers are.
  void MoveInward(NodeId node, GraphId graph);
  // Moves what the node does into a body of its own: `node` keeps its inputs, its outputs and its operator, and gets
  // one attribute, `body`, whose graph has one input per input of the node and one node between those and its outputs.
  // That inner node, which is returned, takes over the attributes and bodies. Values of the new graph have the element
  // types of the outer ones and no shape. REQUIRES: no input or output of the node is absent.
  NodeId NestInBody(NodeId node, absl::string_view body);
  // Lets the uses of `from` for which `filter` holds read `to` instead. Outputs of the main graph stay: see
  // TakeOverGraphOutputs. Linear in the uses of `from`.
  void ReplaceUses(ValueId from, ValueId to, const std::function<bool(const Use&)>& filter);
  // Moves exactly these uses, all to one value or each to its own.
  struct UseMove {
    Use use;
    ValueId to = kNone;
  };
  void MoveUses(ValueId from, absl::Span<const UseMove> moves);
  void MoveUses(ValueId from, ValueId to, absl::Span<const Use> uses);
  void SetInput(NodeId node, size_t port, ValueId value);
  // Appends an input (kNone for an absent one) / drops trailing inputs down to `count`.
  void AppendInput(NodeId node, ValueId value);
  void TruncateInputs(NodeId node, size_t count);
  // Drops trailing outputs down to `count`. Nothing may read them.
  void TruncateOutputs(NodeId node, size_t count);
  // The node must have no used outputs.
  void Erase(NodeId node);
  // Gives the value a new name everywhere in the message.
  void Rename(ValueId value, std::string name);
  // Lets `value` take over the outputs of the main graph that are `from`: `value` gets the name, `from` is renamed to
  // `new_name_of_from`.
  void TakeOverGraphOutputs(ValueId from, ValueId value, std::string new_name_of_from);
  // New initializer of the graph; `tensor` is arena-owned and unnamed.
  ValueId AddInitializer(GraphId graph, std::string name, onnx::TensorProto* tensor);
  void RemoveInitializer(ValueId value);  // no uses may be left
  // Replaces the payload of an initializer; the value keeps its name and takes the tensor's element type.
  void ReplaceInitializer(ValueId value, onnx::TensorProto* tensor);
  void SetTensorType(ValueId value, DType dtype);  // keeps the shape
  // Sets the element type of the tensors in a tensor, sequence or optional; keeps shape and nesting. The type must be
  // known.
  void SetElementType(ValueId value, DType dtype);
  void SetGraphOutputType(size_t port, DType dtype);  // of the main graph, as the file declares it
  void SetType(ValueId value, const onnx::TypeProto& type);
  void CopyType(ValueId from, ValueId to);
  // Takes a type that inference found, which is no edit: `type`, on the arena, is the value's from now on.
  void AdoptType(ValueId value, onnx::TypeProto* type);
  void ForgetType(ValueId value);

  // True once anything was edited since Create.
  bool edited() const { return edited_; }
  // Makes constants of initializers that are graph inputs too: the input entries go. Raises the IR version to 4.
  void FreezeInitializers();
  // Brings the message up to date: node order, initializers, value_info from the known types.
  void Commit();

  // Breaks loudly (CHECK) when topology and message disagree. Linear. See ir/graph/verify.h.
  void CheckConsistency() const;

  const std::vector<std::string>& warnings() const { return warnings_; }
  void AddWarning(std::string text);  // once, however often it is added

 private:
  friend class GraphBuilder;
  Model(std::unique_ptr<google::protobuf::Arena> arena, onnx::ModelProto* proto,
        std::shared_ptr<const OpSignatures> signatures, Weights weights);
  static const Value& AbsentValue();
  Value& mutable_value(ValueId id) { return values_[id]; }
  Node& mutable_node(NodeId id) { return nodes_[id]; }
  Graph& mutable_graph(GraphId id) { return graphs_[id]; }
  ValueId NewValue(GraphId graph, std::string name);
  void AddUse(ValueId value, const Use& use);
  void DropUse(ValueId value, const Use& use);
  void MarkEdited(GraphId graph);
  void CommitGraph(GraphId graph);
  void DropInitializerInputs();
  void WriteUse(const Use& use, ValueId value);
  void Link(NodeId node, NodeId anchor);  // into its graph's order, after `anchor`
  void Unlink(NodeId node);
  void ResolveSchemas();

  std::unique_ptr<google::protobuf::Arena> arena_;
  onnx::ModelProto* proto_;
  Weights weights_;
  std::shared_ptr<const OpSignatures> signatures_;
  IdVector<NodeId, Node> nodes_;
  IdVector<ValueId, Value> values_;
  IdVector<GraphId, Graph> graphs_;
  IdVector<CallId, InlinedCall> calls_;
  UniqueNames names_;                           // all names of all scopes
  absl::flat_hash_set<std::string> functions_;  // "domain::name:overload" of model-local functions
  std::vector<std::string> warnings_;
  absl::flat_hash_set<std::string> seen_warnings_;
  bool edited_ = false;
};

}  // namespace amp

#endif  // AMP_IR_GRAPH_GRAPH_H_
