#include "passes/train/find_value.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ir/base/status.h"
#include "passes/classify/suggest.h"

namespace amp {
namespace {

std::vector<std::string> NamesOfValues(const Model& model) {
  std::vector<std::string> names;
  for (const auto& [name, unused] : model.graph(kMainGraph).names) names.push_back(name);
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string> NamesOf(const Model& model, absl::Span<const ValueId> values) {
  std::vector<std::string> names;
  for (const ValueId value : values) names.push_back(model.value(value).name);
  return names;
}

// The names of values of nodes and callers that fit, the last first.
std::vector<std::string> NamesThatFit(const Model& model, const std::function<bool(ValueId)>& fits) {
  std::vector<ValueId> values = model.graph(kMainGraph).inputs;
  for (const NodeId node : model.NodesInOrder(kMainGraph)) {
    for (const ValueId output : model.node(node).PresentOutputs()) values.push_back(output);
  }
  values.erase(std::remove_if(values.begin(), values.end(), [&](ValueId value) { return !fits(value); }), values.end());
  std::reverse(values.begin(), values.end());
  return NamesOf(model, values);
}

// "found that of a node (Relu); did you mean its output 'y'?"; "" where no node has the name.
std::string FoundNode(const Model& model, const std::string& name) {
  for (const NodeId id : model.NodesInOrder(kMainGraph)) {
    const Node& node = model.node(id);
    if (node.name() != name) continue;
    std::vector<std::string> names;
    for (const ValueId output : node.PresentOutputs()) names.push_back(model.value(output).name);
    return absl::StrCat("found that of a node (", Escaped(node.op_type()), "); did you mean its output",
                        names.size() == 1 ? " " : "s ", QuotedFirstOf(names), "?");
  }
  return "";
}

}  // namespace

std::string SuggestValues(const Model& model, const WantedValue& wanted) {
  return wanted.fits
             ? absl::StrCat("; there are ", QuotedFirstOf(NamesThatFit(model, wanted.fits)))
             : absl::StrCat("; the outputs are ", QuotedFirstOf(NamesOf(model, model.graph(kMainGraph).outputs)));
}

absl::StatusOr<ValueId> FindNamedValue(const Model& model, const std::string& name, absl::string_view flag,
                                       const WantedValue& wanted) {
  const auto& names = model.graph(kMainGraph).names;
  if (const auto found = names.find(name); found != names.end()) return found->second;
  std::string found = FoundNode(model, name);
  if (found.empty()) {
    const std::string closest = DidYouMean(name, NamesOfValues(model));
    found = absl::StrCat("found none called that", closest.empty() ? SuggestValues(model, wanted) : closest);
  }
  return UsageError(flag, " '", Escaped(name), "': expected the name of ", wanted.what, ", ", found);
}

}  // namespace amp
