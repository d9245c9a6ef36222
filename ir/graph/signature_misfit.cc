#include "ir/graph/signature_misfit.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"

namespace amp {
namespace {

// "input 1 'weight'"
std::string PortLabel(absl::string_view side, size_t port, const std::vector<OpSchema::Port>& ports) {
  const std::string& name = ports[std::min(port, ports.size() - 1)].name;
  return absl::StrCat(side, " ", port, name.empty() ? "" : absl::StrCat(" '", name, "'"));
}

template <typename Values>
Reason MisfitOfCount(const Values& values, const std::vector<OpSchema::Port>& ports, absl::string_view side) {
  const bool variadic = !ports.empty() && ports.back().presence == OpSchema::Presence::kVariadic;
  if (variadic || values.size() <= ports.size()) return Reason::None();
  return absl::StrCat("it has ", values.size(), " ", side, "s, expected at most ", ports.size());
}

Reason MisfitOfAbsence(const Node& node, const std::vector<OpSchema::Port>& ports) {
  for (size_t i = 0; i < ports.size(); ++i) {
    const bool absent = i >= node.inputs.size() || node.inputs[i] == kNone;
    if (absent && ports[i].presence == OpSchema::Presence::kRequired) {
      return absl::StrCat(PortLabel("input", i, ports), " is absent");
    }
  }
  return Reason::None();
}

// The known types of one node's ports, by type variable.
class Binding {
 public:
  explicit Binding(const OpSchema& signature) : signature_(signature), bound_(signature.variables().size()) {}

  // Why the port cannot have that type.
  Reason Bind(int variable, DType type, const std::string& label) {
    if (type == DType::kUndefined) return Reason::None();
    DType& bound = bound_[static_cast<size_t>(variable)];
    if (!signature_.Allows(variable, type)) {
      return absl::StrCat(label, " is ", DTypeName(type), ", which the signature does not take there");
    }
    if (bound != DType::kUndefined && bound != type) {
      return absl::StrCat(label, " is ", DTypeName(type), ", expected ", DTypeName(bound), " as of the other ports of ",
                          signature_.variables()[static_cast<size_t>(variable)].name);
    }
    bound = type;
    return Reason::None();
  }

 private:
  const OpSchema& signature_;
  std::vector<DType> bound_;
};

}  // namespace

Reason Misfit(const Model& model, NodeId id, const OpSchema& signature, absl::Span<const DType> claimed) {
  const Node& node = model.node(id);
  Reason why = MisfitOfCount(node.inputs, signature.inputs(), "input");
  if (!why) why = MisfitOfCount(node.outputs, signature.outputs(), "output");
  if (!why) why = MisfitOfAbsence(node, signature.inputs());
  Binding binding(signature);
  for (size_t i = 0; i < node.inputs.size() && !why; ++i) {
    if (node.inputs[i] == kNone) continue;
    const Value& value = model.value(node.inputs[i]);
    const std::string label = PortLabel("input", i, signature.inputs());
    why = value.type != nullptr && !value.is_tensor ? Reason(absl::StrCat(label, " is no tensor"))
                                                    : binding.Bind(signature.InputVariable(i), value.dtype, label);
  }
  for (size_t i = 0; i < claimed.size() && !why; ++i) {
    why = binding.Bind(signature.OutputVariable(i), claimed[i], PortLabel("output", i, signature.outputs()));
  }
  return why;
}

}  // namespace amp
