#include "passes/decide/free_dimension.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ir/base/status.h"
#include "ir/graph/infer.h"
#include "ir/graph/shape.h"
#include "ir/graph/symbolic_dims.h"
#include "ir/operators/sample_axis.h"
#include "ir/schema/operator_label.h"

namespace amp {
namespace {

constexpr absl::string_view kBatch = "batch";

struct Port {
  ValueId value = kNone;
  size_t axis = 0;
};

struct NodeEdit {
  NodeId node = kNone;
  InputEdit edit;
};

std::string NodeText(const Model& model, NodeId id) {
  return absl::StrCat("node '", Escaped(model.NodeLabel(id)), "' (",
                      Escaped(OperatorLabel(model.node(id).domain(), model.node(id).op_type())), ")");
}

// Follows samples through the main graph, and writes what has to change.
class Freeing {
 public:
  Freeing(Model& model, std::string symbol) : model_(model), symbol_(std::move(symbol)) {}

  // REQUIRES: one size for all.
  Reason Follow(const std::vector<Port>& ports) {
    for (const Port& port : ports) {
      samples_.count = (*ShapeOf(model_, port.value))[port.axis];
      samples_.axes[port.value] = {port.axis, 1};
    }
    for (const NodeId id : model_.NodesInOrder(kMainGraph)) {
      if (Reason why = FollowNode(id)) return why;
    }
    for (const ValueId value : model_.AllValues()) {
      if (Reason why = ReadInBody(value)) return why;
    }
    return Reason::None();
  }

  void Write() {
    for (const NodeEdit& edit : edits_) WriteInput(edit);
    absl::flat_hash_map<ValueId, SymbolicDim> dims;
    for (const auto& [value, axis] : samples_.axes) dims[value] = {axis.axis, axis.block == 1 ? symbol_ : ""};
    StateSymbolicDims(model_, dims);
    InferTypes(model_);
  }

 private:
  Reason FollowNode(NodeId id) {
    const Node& node = model_.node(id);
    const auto has_samples = [&](ValueId in) { return samples_.Of(in) != nullptr; };
    if (std::none_of(node.inputs.begin(), node.inputs.end(), has_samples)) return Reason::None();
    FollowedNode followed = FollowSamples(model_, id, samples_);
    if (followed.why) return Reason(absl::StrCat(NodeText(model_, id), " ", followed.why.sentence()));
    for (size_t port = 0; port < node.outputs.size() && port < followed.outputs.size(); ++port) {
      const auto& axis = followed.outputs[port];
      if (node.outputs[port] == kNone || !axis.has_value()) continue;
      const auto shape = ShapeOf(model_, node.outputs[port]);
      const bool fits = !shape.has_value() || (axis->axis < shape->size() && IsSize((*shape)[axis->axis], *axis));
      if (!fits)
        return Reason(absl::StrCat(NodeText(model_, id), " has a result of another shape than it should have"));
      samples_.axes[node.outputs[port]] = *axis;
    }
    for (InputEdit& edit : followed.edits) edits_.push_back({id, std::move(edit)});
    return Reason::None();
  }

  bool IsSize(int64_t size, const SampleAxis& axis) const {
    return size == kUnknownDim || axis.block < 0 || size == samples_.count * axis.block;
  }

  // Bodies see values of the graphs around them; nobody follows them there.
  Reason ReadInBody(ValueId value) const {
    if (samples_.Of(value) == nullptr) return Reason::None();
    for (const Use& use : model_.value(value).uses) {
      const GraphId graph = use.IsGraphOutput() ? use.graph : model_.node(use.node).graph;
      if (graph == kMainGraph) continue;
      return Reason(absl::StrCat(NodeText(model_, model_.graph(graph).owner), " reads samples in a body"));
    }
    return Reason::None();
  }

  void WriteInput(const NodeEdit& made) {
    const ValueId before = model_.node(made.node).Input(made.edit.port);
    if (!made.edit.elements.has_value()) return model_.SetInput(made.node, made.edit.port, kNone);
    const std::string name = model_.UniqueName(absl::StrCat(model_.value(before).name, "_", symbol_));
    model_.SetInput(made.node, made.edit.port, AddInt64s(model_, name, *made.edit.elements));
  }

  Model& model_;
  const std::string symbol_;
  Samples samples_;
  std::vector<NodeEdit> edits_;
};

// Whether a dimension of an input has this name already.
bool HasSymbol(const Model& model, const std::string& symbol) {
  const auto& inputs = model.graph(kMainGraph).inputs;
  return std::any_of(inputs.begin(), inputs.end(), [&](ValueId id) {
    const std::vector<std::string> symbols = DimSymbols(model, id);
    return std::find(symbols.begin(), symbols.end(), symbol) != symbols.end();
  });
}

absl::StatusOr<Port> FindPort(const Model& model, const FreedDimension& freed) {
  const std::string flag = absl::StrCat("--dim ", Escaped(freed.input), ":", freed.axis, "=", Escaped(freed.symbol));
  if (HasSymbol(model, freed.symbol)) {
    return UsageError(flag, ": another dimension has this name already; expected a new one");
  }
  std::vector<std::string> names;
  for (const ValueId id : model.graph(kMainGraph).inputs) {
    if (model.value(id).IsInitializer()) continue;
    names.push_back(model.value(id).name);
    if (names.back() != freed.input) continue;
    const auto shape = ShapeOf(model, id);
    if (!shape.has_value() || freed.axis >= shape->size()) {
      return UsageError(flag, ": '", Escaped(freed.input), "' is ", TypeText(model, id), " and has no axis ",
                        freed.axis);
    }
    if ((*shape)[freed.axis] == kUnknownDim) {
      return UsageError(flag, ": '", Escaped(freed.input), "' is ", TypeText(model, id), ": axis ", freed.axis,
                        " has no fixed size already");
    }
    if ((*shape)[freed.axis] == 0) return UsageError(flag, ": this dimension is 0: there is nothing to compute");
    return Port{id, freed.axis};
  }
  return UsageError(flag, ": the model has no such input; it has ", QuotedFirstOf(names));
}

std::string NewSymbol(const Model& model) {
  std::string symbol(kBatch);
  for (int i = 1; HasSymbol(model, symbol); ++i) symbol = absl::StrCat(kBatch, "_", i);
  return symbol;
}

std::string Names(const Model& model, const std::vector<Port>& ports) {
  std::vector<std::string> names;
  names.reserve(ports.size());
  for (const Port& port : ports) names.push_back(model.value(port.value).name);
  return QuotedFirstOf(names);
}

}  // namespace

absl::Status FreeDimensions(Model& model, const std::vector<FreedDimension>& dimensions) {
  std::map<std::string, std::vector<Port>> by_symbol;
  for (const FreedDimension& freed : dimensions) {
    AMP_ASSIGN_OR_RETURN(const Port port, FindPort(model, freed));
    std::vector<Port>& ports = by_symbol[freed.symbol];
    ports.push_back(port);
    const int64_t size = (*ShapeOf(model, port.value))[port.axis];
    const int64_t first = (*ShapeOf(model, ports.front().value))[ports.front().axis];
    if (size == first) continue;
    return UsageError("--dim ", Escaped(freed.input), ":", freed.axis, "=", Escaped(freed.symbol),
                      ": this dimension is ", size, ", another one of that symbol ", first, "; expected one size");
  }
  for (const auto& [symbol, ports] : by_symbol) {
    Freeing freeing(model, symbol);
    if (const Reason why = freeing.Follow(ports)) {
      return RefusedError("--dim ", Escaped(model.value(ports.front().value).name), ":", ports.front().axis, "=",
                          Escaped(symbol), ": ", why.sentence());
    }
    freeing.Write();
  }
  return absl::OkStatus();
}

FreedBatch FreeBatch(Model& model) {
  std::vector<Port> ports;
  for (const ValueId id : model.graph(kMainGraph).inputs) {
    const auto shape = model.value(id).IsInitializer() ? std::nullopt : ShapeOf(model, id);
    if (shape.has_value() && !shape->empty() && shape->front() == 1) ports.push_back({id, 0});
  }
  if (ports.empty()) return {};
  const std::string symbol = NewSymbol(model);
  std::string first_obstacle;
  for (const bool takes_all : {true, false}) {
    if (!takes_all && ports.size() == 1) break;
    if (!takes_all) ports.resize(1);
    Freeing freeing(model, symbol);
    const Reason why = freeing.Follow(ports);
    if (!why) {
      freeing.Write();
      return {true, absl::StrCat("the first dimension of ", Names(model, ports), " is '", symbol, "' now")};
    }
    if (first_obstacle.empty()) first_obstacle = why.sentence();
  }
  return {false, absl::StrCat("the first dimension of ", Names(model, ports), " stays 1: ", first_obstacle)};
}

}  // namespace amp
