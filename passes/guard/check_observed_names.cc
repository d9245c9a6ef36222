#include "passes/guard/check_observed_names.h"

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "ir/base/status.h"

namespace amp {
namespace {

// Whether a run computes or is given the value, and a node reads it.
bool IsObservable(const Model& model, ValueId id) {
  const Value& value = model.value(id);
  const bool is_given = value.is_graph_input && !value.IsInitializer();
  const bool is_computed = value.producer != kNone && !model.node(value.producer).Has(Role::kConstant);
  return value.graph == kMainGraph && value.is_tensor && value.dtype == DType::kFloat32 && !value.uses.empty() &&
         (is_given || is_computed);
}

}  // namespace

absl::StatusOr<std::vector<std::string>> CheckObservedNames(const Model& model, const ObservedValues& observed) {
  absl::flat_hash_set<std::string> names;
  std::vector<std::string> expected, unobserved, unknown;
  for (const ValueId id : model.AllValues()) {
    const std::string& name = model.value(id).name;
    names.insert(name);
    if (!IsObservable(model, id)) continue;
    expected.push_back(name);
    const auto it = observed.find(name);
    if (it == observed.end() || it->second.elements == 0) unobserved.push_back(name);
  }
  std::vector<std::string> given;
  for (const auto& [name, value] : observed) {
    given.push_back(name);
    if (!names.contains(name)) unknown.push_back(name);
  }
  if (unknown.size() == observed.size() && !expected.empty()) {
    return UsageError("ranges: expected those of the model's values (", QuotedFirstOf(expected), "), found ",
                      given.empty() ? "no value" : absl::StrCat("others' (", QuotedFirstOf(given), ")"));
  }
  std::vector<std::string> sentences;
  if (!unobserved.empty()) {
    sentences.push_back(absl::StrCat("ranges: ", unobserved.size(), " of ", expected.size(),
                                     " float32 values have none (", QuotedFirstOf(unobserved),
                                     "), and are judged without"));
  }
  if (!unknown.empty()) {
    sentences.push_back(absl::StrCat("ranges: ", unknown.size(), " of ", observed.size(),
                                     " are of no value of the model (", QuotedFirstOf(unknown), ")"));
  }
  return sentences;
}

}  // namespace amp
