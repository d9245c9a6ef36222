#include "passes/train/differentiate.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "ir/base/status.h"
#include "ir/graph/infer.h"
#include "ir/graph/shape.h"
#include "ir/schema/operator_label.h"
#include "ir/schema/schema.h"
#include "passes/train/gradient/gradient_rule.h"

namespace amp {
namespace {

constexpr size_t kMostOfPath = 12;  // nodes that a message names

bool IsFloat(DType type) { return LargestFinite(type) > 0 && BitsPerElement(type) >= 16; }

// The part of the graph between the loss and `of`, found before anything is written.
class Way {
 public:
  Way(const Model& model, ValueId loss, absl::Span<const ValueId> of)
      : model_(model),
        loss_(loss),
        moves_(model.num_values(), false),
        counts_(model.num_values(), false),
        reader_(model.num_values()) {
    order_ = model.NodesInOrder(kMainGraph);
    for (const ValueId value : of) MarkMoving(value);
    for (const NodeId node : order_) {
      if (IsMoved(node)) ForEachFloatOutput(node, [&](ValueId output) { MarkMoving(output); });
    }
  }

  // The nodes whose gradients are needed, the last one first.
  std::vector<NodeId> Find() {
    std::vector<NodeId> found;
    counts_[loss_] = true;
    for (auto it = order_.rbegin(); it != order_.rend(); ++it) {
      const auto& outputs = model_.node(*it).outputs;
      const bool is_on_it =
          std::any_of(outputs.begin(), outputs.end(), [&](ValueId v) { return v != kNone && counts_[v]; });
      if (!is_on_it || !IsMoved(*it)) continue;
      found.push_back(*it);
      const Node& node = model_.node(*it);
      for (size_t port = 0; port < node.inputs.size(); ++port) {
        if (!TakesGradient(*it, port)) continue;
        counts_[node.inputs[port]] = true;
        reader_[node.inputs[port]] = *it;
      }
    }
    return found;
  }

  // Marks the values of which some way to the loss leads through a node without a rule, or through one of `refused`.
  // REQUIRES: Find was called.
  IdVector<ValueId, bool> FindBlocked(const absl::flat_hash_set<NodeId>& refused) const {
    IdVector<ValueId, bool> is_blocked(model_.num_values(), false);
    // No gradient goes into bodies.
    for (const ValueId value : model_.AllValues()) {
      for (const Use& use : model_.value(value).uses) {
        if (use.graph != kMainGraph && moves_[value]) is_blocked[value] = true;
      }
    }
    for (auto it = order_.rbegin(); it != order_.rend(); ++it) {
      const Node& node = model_.node(*it);
      bool is_on_way = false, leads_to_blocked = false;
      for (const ValueId output : node.PresentOutputs()) {
        is_on_way = is_on_way || (counts_[output] && moves_[output]);
        leads_to_blocked = leads_to_blocked || is_blocked[output];
      }
      const bool is_refused = is_on_way && (refused.contains(*it) || !HasRule(*it));
      if (!is_refused && !leads_to_blocked) continue;
      for (size_t port = 0; port < node.inputs.size(); ++port) {
        if (TakesGradient(*it, port)) is_blocked[node.inputs[port]] = true;
      }
    }
    return is_blocked;
  }

  // Whether a gradient goes through the node.
  bool HasRule(NodeId id) const { return CheckNode(id, Said::kNothing).ok() && CheckTypes(id, Said::kNothing).ok(); }

  // Whether there is a rule for each, and what that relies on.
  absl::Status Check(absl::Span<const NodeId> nodes) const {
    absl::Status types;  // an operator that nobody knows gives what it gives, and says more
    for (const NodeId node : nodes) {
      AMP_RETURN_IF_ERROR(CheckNode(node));
      if (types.ok()) types = CheckTypes(node);
    }
    return types;
  }

  bool Counts(ValueId value) const { return counts_[value]; }
  // Whether a gradient goes into the input: it moves, and the operator is one of whose operand it is a function.
  bool TakesGradient(NodeId id, size_t port) const {
    const Node& node = model_.node(id);
    const GradientRule* rule = RuleOf(id);
    const ValueId value = node.inputs[port];
    return value != kNone && moves_[value] && (rule == nullptr || !rule->Stops(port));
  }

  const GradientRule* RuleOf(NodeId id) const {
    const Node& node = model_.node(id);
    return FindGradientRule(node.domain(), node.op_type());
  }

  std::string NameOf(NodeId id) const {
    const Node& node = model_.node(id);
    return absl::StrCat("node '", Escaped(model_.NodeLabel(id)), "' (",
                        Escaped(OperatorLabel(node.domain(), node.op_type())), ")");
  }

  // "the loss 'l', ReduceMean 'm', Relu 'r'", down to what reads the node.
  std::string PathTo(NodeId id) const {
    std::vector<std::string> names;
    for (NodeId at = id; at != kNone;) {
      const Node& node = model_.node(at);
      NodeId next = kNone;
      for (const ValueId output : node.PresentOutputs()) {
        if (next == kNone && counts_[output]) next = reader_[output];
      }
      if (at != id) names.push_back(Escaped(model_.NodeLabel(at)));
      at = next;
    }
    std::string path = absl::StrCat("the loss '", Escaped(model_.value(loss_).name), "'");
    for (size_t i = names.size(); i > 0; --i) {
      const bool is_left_out = names.size() > kMostOfPath && i > kMostOfPath / 2 && i <= names.size() - kMostOfPath / 2;
      if (!is_left_out) absl::StrAppend(&path, " <- ", names[i - 1]);
      if (is_left_out && i == names.size() - kMostOfPath / 2) absl::StrAppend(&path, " <- ...");
    }
    return path;
  }

 private:
  template <typename Visit>
  void ForEachFloatOutput(NodeId id, Visit visit) {
    for (const ValueId output : model_.node(id).PresentOutputs()) {
      const DType type = ElementType(model_.value(output));
      if (type == DType::kUndefined || IsFloat(type)) visit(output);
    }
  }

  // Marks the value, and the nodes of the main graph in whose bodies it is read.
  void MarkMoving(ValueId value) {
    if (moves_[value]) return;
    moves_[value] = true;
    for (const Use& use : model_.value(value).uses) {
      GraphId graph = use.graph;
      NodeId owner = kNone;
      while (graph != kMainGraph) {
        owner = model_.graph(graph).owner;
        graph = model_.node(owner).graph;
      }
      if (owner != kNone) captures_[owner] = value;
    }
  }

  bool IsMoved(NodeId id) const {
    const Node& node = model_.node(id);
    if (captures_.contains(id)) return true;
    for (size_t port = 0; port < node.inputs.size(); ++port) {
      if (TakesGradient(id, port)) return true;
    }
    return false;
  }

  // Checks what rules rely on, as the model comes from anywhere.
  bool HasOperands(const Node& node, const GradientRule& rule) const {
    if (node.Output(0) == kNone) return false;
    if (!rule.domain.empty()) return node.Input(0) != kNone && node.Input(1) != kNone;
    if (node.schema == nullptr) return false;
    for (size_t port = 0; port < node.schema->inputs().size(); ++port) {
      const bool is_required = node.schema->inputs()[port].presence == OpSchema::Presence::kRequired;
      if (is_required && node.Input(port) == kNone) return false;
    }
    return true;
  }

  // Messages name the way to a node, which may be long.
  enum class Said { kNothing, kAll };

  absl::Status CheckTypes(NodeId id, Said said = Said::kAll) const {
    const Node& node = model_.node(id);
    const auto check = [&](ValueId value) {
      if (IsFloat(model_.value(value).dtype)) return absl::OkStatus();
      if (said == Said::kNothing) return absl::DataLossError("");
      return ModelError(NameOf(id), ": '", Escaped(model_.value(value).name), "' is ", TypeText(model_, value),
                        "; expected a float type of what a gradient goes through; the way to it: ", PathTo(id));
    };
    for (size_t port = 0; port < node.inputs.size(); ++port) {
      if (TakesGradient(id, port)) AMP_RETURN_IF_ERROR(check(node.inputs[port]));
    }
    for (const ValueId output : node.PresentOutputs()) {
      if (counts_[output]) AMP_RETURN_IF_ERROR(check(output));
    }
    return absl::OkStatus();
  }

  absl::Status CheckNode(NodeId id, Said said = Said::kAll) const {
    const Node& node = model_.node(id);
    const auto refuse = [&](absl::string_view why) -> absl::Status {
      if (said == Said::kNothing) return absl::DataLossError("");
      return ModelError(NameOf(id), ": ", why, "; the way to it: ", PathTo(id));
    };
    if (!node.bodies.empty()) return refuse("no gradient goes through control flow");
    const GradientRule* rule = RuleOf(id);
    const bool is_call = model_.IsCallOfFunction(id) && (rule == nullptr || rule->domain.empty());
    if (is_call) return refuse("no gradient rule for this model-local function; expected it to be inlined");
    if (rule == nullptr) return refuse("no gradient rule for this operator");
    if (!HasOperands(node, *rule)) return refuse("an operand is missing, or the model's opset has no such operator");
    for (size_t port = 0; port < node.outputs.size(); ++port) {
      const ValueId output = node.outputs[port];
      if (output == kNone || !counts_[output] || !moves_[output]) continue;
      const bool knows_all = rule->outputs == AllPorts();
      if (!knows_all && (port >= 32 || (rule->outputs & Port(static_cast<int>(port))) == 0)) {
        return refuse(
            absl::StrCat("no gradient rule for its output ", port, " '", Escaped(model_.value(output).name), "'"));
      }
    }
    return absl::OkStatus();
  }

  const Model& model_;
  const ValueId loss_;
  std::vector<NodeId> order_;
  IdVector<ValueId, bool> moves_;     // with what is asked for
  IdVector<ValueId, bool> counts_;    // for the loss
  IdVector<ValueId, NodeId> reader_;  // one through which it counts
  absl::flat_hash_map<NodeId, ValueId> captures_;
};

class Differentiator {
 public:
  Differentiator(Model& model, const Way& way) : model_(model), way_(way), write_(model) {}

  // The loss has one element, in any rank.
  void Begin(ValueId loss, ValueId seed) {
    const DType type = model_.value(loss).dtype;
    const Term start = Cast(write_.Of(seed), type);
    Add(loss, ShapeOf(model_, loss) == Axes() ? start : Expand(start, write_.ShapeOf(loss)));
  }

  absl::Status GoThrough(NodeId id) {
    // Copies: what is written moves the nodes.
    const auto inputs = model_.node(id).inputs, outputs = model_.node(id).outputs;
    std::vector<bool> wanted;
    wanted.reserve(inputs.size());
    for (size_t port = 0; port < inputs.size(); ++port) wanted.push_back(way_.TakesGradient(id, port));
    std::vector<Term> gradients;
    for (const ValueId output : outputs) gradients.push_back(output == kNone ? Term() : SumOf(output));
    if (std::all_of(gradients.begin(), gradients.end(), [](const Term& g) { return g.IsNone(); })) {
      return absl::OkStatus();
    }
    write_.append().SetPrefix(absl::StrCat("gradient/", model_.NodeLabel(id)));
    Backward backward(write_, id, std::move(gradients), std::move(wanted));
    if (const absl::Status written = way_.RuleOf(id)->write(backward); !written.ok()) {
      return absl::Status(written.code(), absl::StrCat(way_.NameOf(id), ": no gradient: ", written.message(),
                                                       "; the way to it: ", way_.PathTo(id)));
    }
    for (size_t port = 0; port < inputs.size(); ++port) {
      const Term& gradient = backward.given()[port];
      if (!gradient.IsNone()) Add(inputs[port], gradient);
    }
    return absl::OkStatus();
  }

  // All that was given for the value, once; none if nothing was.
  Term SumOf(ValueId value) {
    const auto it = given_.find(value);
    if (it == given_.end()) return Term();
    std::vector<Term>& parts = it->second;
    if (parts.size() > 1) {
      write_.append().SetPrefix(absl::StrCat("gradient/", model_.value(value).name));
      const Term sum = parts.size() == 2 ? parts[0] + parts[1] : write_.Op("Sum", parts);
      parts = {sum};
    }
    return parts.front();
  }

 private:
  void Add(ValueId value, const Term& gradient) { given_[value].push_back(gradient); }

  Model& model_;
  const Way& way_;
  TermWriter write_;
  absl::flat_hash_map<ValueId, std::vector<Term>> given_;  // by no order: only looked up
};

absl::Status CheckArguments(const Model& model, ValueId loss, ValueId seed) {
  if (model.opset("") < kOldestTrainableOpset) {
    return ModelError("the model imports opset ", model.opset(""), "; expected ", kOldestTrainableOpset,
                      " or newer for gradients");
  }
  const Value& value = model.value(loss);
  const bool may_have_one = NumElements(model, loss) == 1 || !ShapeOf(model, loss).has_value();
  if (!may_have_one || !IsFloat(value.dtype)) {
    return ModelError("the loss '", Escaped(value.name), "' is ", TypeText(model, loss),
                      "; expected a float type and one element");
  }
  if (ShapeOf(model, seed) != Axes() || !IsFloat(model.value(seed).dtype)) {
    return ModelError("the seed '", Escaped(model.value(seed).name), "' is ", TypeText(model, seed),
                      "; expected a scalar of a float type");
  }
  return absl::OkStatus();
}

}  // namespace

std::vector<ValueId> ReachedFrom(const Model& model, ValueId loss, absl::Span<const ValueId> of) {
  Way way(model, loss, of);
  way.Find();
  std::vector<ValueId> reached;
  std::copy_if(of.begin(), of.end(), std::back_inserter(reached), [&](ValueId value) { return way.Counts(value); });
  return reached;
}

std::vector<ValueId> DifferentiableFrom(const Model& model, ValueId loss, absl::Span<const ValueId> of,
                                        const absl::flat_hash_set<NodeId>& refused) {
  Way way(model, loss, of);
  way.Find();
  const IdVector<ValueId, bool> is_blocked = way.FindBlocked(refused);
  std::vector<ValueId> found;
  std::copy_if(of.begin(), of.end(), std::back_inserter(found),
               [&](ValueId value) { return way.Counts(value) && !is_blocked[value]; });
  return found;
}

absl::StatusOr<std::vector<ValueId>> Gradients(Model& model, ValueId loss, ValueId seed, absl::Span<const ValueId> of,
                                               NodeId* refused) {
  AMP_RETURN_IF_ERROR(CheckArguments(model, loss, seed));
  Way way(model, loss, of);
  const std::vector<NodeId> nodes = way.Find();
  AMP_RETURN_IF_ERROR(way.Check(nodes));
  for (const ValueId value : of) {
    if (!way.Counts(value)) {
      return ModelError("the loss '", Escaped(model.value(loss).name), "' does not depend on '",
                        Escaped(model.value(value).name), "'; expected every trained value to have a gradient");
    }
  }

  Differentiator differentiator(model, way);
  differentiator.Begin(loss, seed);
  for (const NodeId node : nodes) {
    const absl::Status gone = differentiator.GoThrough(node);
    if (!gone.ok() && refused != nullptr) *refused = node;
    AMP_RETURN_IF_ERROR(gone);
  }
  std::vector<ValueId> gradients;
  for (const ValueId value : of) {
    const Term gradient = differentiator.SumOf(value);
    if (gradient.IsNone()) {
      return ModelError("no gradient reaches '", Escaped(model.value(value).name), "'");
    }
    gradients.push_back(gradient.value());
  }
  // Inference does not look into functions, and loses shapes there. If it knows nothing, it takes the stated types.
  const DType type_of_loss = model.value(loss).dtype;
  const auto shape_of_loss = ShapeOf(model, loss);
  const auto state_types = [&] {
    if (shape_of_loss.has_value()) StateType(model, loss, type_of_loss, *shape_of_loss);
    for (size_t i = 0; i < of.size(); ++i) model.CopyType(of[i], gradients[i]);
  };
  state_types();
  model.Commit();
  InferTypes(model);
  state_types();
  return gradients;
}

}  // namespace amp
