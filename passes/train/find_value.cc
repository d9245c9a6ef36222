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

std::vector<std::string> NamesOfOutputs(const Model& model) {
  std::vector<std::string> names;
  for (const ValueId output : model.graph(kMainGraph).outputs) names.push_back(model.value(output).name);
  return names;
}

}  // namespace

absl::StatusOr<ValueId> FindNamedValue(const Model& model, const std::string& name, absl::string_view flag) {
  const auto& names = model.graph(kMainGraph).names;
  if (const auto found = names.find(name); found != names.end()) return found->second;
  const std::string closest = DidYouMean(name, NamesOfValues(model));
  return UsageError(
      flag, " '", Escaped(name), "': the model has no value of this name",
      closest.empty() ? absl::StrCat("; its outputs are ", QuotedFirstOf(NamesOfOutputs(model))) : closest);
}

}  // namespace amp
