#include "passes/record/check_operator_names.h"

#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ir/base/status.h"
#include "ir/file/model_walk.h"
#include "ir/schema/operator_label.h"
#include "passes/classify/op_list_file.h"
#include "passes/classify/suggest.h"
#include "passes/record/call_record.h"

namespace amp {
namespace {

using Name = std::pair<std::string, std::string>;  // domain, operator

// The names of functions and nodes in the model.
struct ModelNames {
  std::set<Name> functions, nodes;

  explicit ModelNames(const onnx::ModelProto& model) : functions(RecordedFunctions(model)) {
    ForEachOperator(model, [&](absl::string_view domain, absl::string_view op) { nodes.emplace(domain, op); });
    ForEachFunction(model, [&](absl::string_view domain, absl::string_view name) { functions.emplace(domain, name); });
  }
};

std::string Shown(const Name& name) { return Escaped(OperatorLabel(name.first, name.second)); }

struct Complaint {
  std::string text;  // empty: none
  bool is_unknown = false;
};

Complaint CheckListed(const ForeignOperator& listed, const ModelNames& model, const OperatorNames& known) {
  const Name name(listed.domain, listed.op);
  if (model.functions.contains(name)) return {};
  if (!model.nodes.contains(name)) {
    const std::string suggestion = DidYouMeanOperator(listed.domain, listed.op, known);
    return {absl::StrCat(listed.origin, ": unknown operator '", Shown(name), "'",
                         suggestion.empty() ? ": neither ONNX, nor a signature, nor the model has one of that name"
                                            : suggestion),
            true};
  }
  // Operators without a signature stay float32 anyway.
  if (listed.op_class == OpClass::kDeny || listed.op_class == OpClass::kUnlisted) return {};
  return {absl::StrCat(listed.origin, ": '", Shown(name), "' has no signature, so it stays as it is; to say what it ",
                       "takes and gives: --op-signature '", Shown(name), "(T...) -> T'")};
}

Complaint CheckGiven(const Name& name, const ModelNames& model, const OperatorNames& in_model) {
  if (model.functions.contains(name)) {
    return {absl::StrCat("--op-signature: the model defines '", Shown(name),
                         "' as a function, so its signature is not used")};
  }
  if (model.nodes.contains(name)) return {};
  return {absl::StrCat("--op-signature: the model has no operator '", Shown(name), "'",
                       DidYouMeanOperator(name.first, name.second, in_model)),
          true};
}

// An operator of ONNX or a signature that the model has no node of.
absl::Status RefuseAbsent(const OpLists& lists, const ModelNames& model, const OperatorNames& in_model) {
  for (const ForeignOperator& listed : lists.flagged_operators()) {
    const Name name(listed.domain, listed.op);
    if (model.nodes.contains(name) || model.functions.contains(name)) continue;
    return UsageError(listed.origin, ": the model has no operator '", Shown(name), "'",
                      DidYouMeanOperator(name.first, name.second, in_model));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<std::string>> CheckOperatorNames(const onnx::ModelProto& model, const OpLists& lists,
                                                            const OpSignatures& signatures, UnknownNames unknown) {
  std::vector<std::string> warnings;
  const bool looks_for_absent = unknown == UnknownNames::kRefuseAbsent && !lists.flagged_operators().empty();
  if (lists.foreign_operators().empty() && signatures.given().empty() && !looks_for_absent) return warnings;
  const ModelNames names(model);
  OperatorNames in_model;
  for (const auto& [domain, op] : names.nodes) in_model[domain].push_back(op);
  OperatorNames known = KnownOperators(signatures);
  for (const auto* more : {&names.nodes, &names.functions}) {
    for (const auto& [domain, op] : *more) known[domain].push_back(op);
  }
  std::vector<Complaint> complaints;
  std::set<Name> checked;
  for (const auto& schema : signatures.given()) {
    const Name name(schema->domain(), schema->name());
    if (!checked.insert(name).second) continue;
    complaints.push_back(CheckGiven(name, names, in_model));
  }
  for (const ForeignOperator& listed : lists.foreign_operators()) {
    complaints.push_back(CheckListed(listed, names, known));
  }
  for (Complaint& complaint : complaints) {
    if (complaint.is_unknown && unknown != UnknownNames::kWarn) return UsageError(complaint.text);
    if (!complaint.text.empty()) warnings.push_back(std::move(complaint.text));
  }
  if (looks_for_absent) AMP_RETURN_IF_ERROR(RefuseAbsent(lists, names, in_model));
  return warnings;
}

absl::Status ExplainUnknownOperator(const absl::Status& error, const onnx::ModelProto& model) {
  const std::optional<std::string> op = UnknownOperator(error);
  if (!op) return error;
  const ModelNames names(model);
  for (const auto* known : {&names.nodes, &names.functions}) {
    for (const Name& name : *known) {
      if (name.second != *op || name.first.empty()) continue;
      return absl::Status(error.code(), absl::StrCat(error.message(), "; the model has '", Shown(name), "'"));
    }
  }
  if (!HasNodeOfName(model, *op)) return error;
  return absl::Status(error.code(), absl::StrCat(error.message(), "; a node of the model has that name: --deny-node ",
                                                 Escaped(*op), " or --allow-node"));
}

}  // namespace amp
