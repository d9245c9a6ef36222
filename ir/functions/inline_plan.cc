#include "ir/functions/inline_plan.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ir/base/saturated.h"
#include "ir/base/status.h"
#include "ir/functions/lift_function.h"
#include "ir/schema/opset_imports.h"
#include "ir/schema/schema.h"
#include "onnx/onnx_pb.h"

namespace amp {
namespace {

using onnx::FunctionProto;
using onnx::NodeProto;

bool HoldsGraph(const onnx::AttributeProto& attribute) { return attribute.has_g() || attribute.graphs_size() > 0; }

const OpSchema* SchemaAt(const NodeProto& node, int64_t version) {
  if (version < 1 || version > INT32_MAX) return nullptr;
  return FindOpSchema(CanonicalDomain(node.domain()), node.op_type(), static_cast<int>(version));
}

int64_t NumNames(const NodeProto& node) { return int64_t{1} + node.input_size() + node.output_size(); }
int64_t NumNames(const onnx::GraphProto& graph) {
  return int64_t{graph.input_size()} + graph.output_size() + graph.initializer_size() +
         graph.sparse_initializer_size() + graph.value_info_size();
}
// Returns the length of the longest text that may replace a name of the function: the label in front of it, or a name
// that the call passes.
int64_t LongestName(const NodeProto& call) {
  size_t longest = std::max(call.name().size(), call.op_type().size() + 12) + 2;
  for (const auto* names : {&call.input(), &call.output()}) {
    for (const std::string& name : *names) longest = std::max(longest, name.size());
  }
  return static_cast<int64_t>(longest);
}

}  // namespace

InlinePlan::InlinePlan(const onnx::ModelProto& model, const std::vector<std::string>& opaque_domains,
                       Reason model_stays_because)
    : model_(model), model_stays_because_(std::move(model_stays_because)) {
  for (int i = 0; i < model.functions_size(); ++i) index_.try_emplace(FunctionKeyOf(model.functions(i)), i);
  for (const auto& import : model.opset_import()) {
    imports_[std::string(CanonicalDomain(import.domain()))] = import.version();
  }
  facts_.resize(static_cast<size_t>(model.functions_size()));
  for (int i = 0; i < model.functions_size(); ++i) Judge(i, opaque_domains);
  if (index_.empty()) return;
  ForEachNodeWithin(model.graph().node(), [&](const NodeProto& node) {
    if (Callee(node) < 0 || ObstacleTo(node)) return;
    ++num_calls_;
    AddCall(node, main_);
  });
}

int InlinePlan::Callee(const NodeProto& node) const {
  if (index_.empty()) return -1;
  const auto it = index_.find(FunctionKeyOf(node));
  return it == index_.end() ? -1 : it->second;
}

const FunctionProto& InlinePlan::function(int index) const {
  const Facts& facts = facts_[static_cast<size_t>(index)];
  return facts.lifted != nullptr ? *facts.lifted : model_.functions(index);
}

Reason InlinePlan::ObstacleTo(const NodeProto& call) const {
  const Facts& facts = facts_[static_cast<size_t>(Callee(call))];
  if (facts.obstacle) return facts.obstacle;
  for (const auto& attribute : call.attribute()) {
    if (HoldsGraph(attribute)) return absl::StrCat("its attribute '", Escaped(attribute.name()), "' is a graph");
  }
  return Reason::None();
}

void InlinePlan::Judge(int index, const std::vector<std::string>& opaque_domains) {
  const FunctionProto& function = model_.functions(index);
  Facts& facts = facts_[static_cast<size_t>(index)];
  const auto is_opaque = [&](const std::string& domain_or_name) {
    return std::find(opaque_domains.begin(), opaque_domains.end(), domain_or_name) != opaque_domains.end();
  };
  if (is_opaque(function.domain())) {
    facts.obstacle = absl::StrCat("functions of domain ", Escaped(function.domain()), " stay calls");
    return;
  }
  if (is_opaque(absl::StrCat(function.domain(), "::", function.name()))) {
    facts.obstacle = "a kernel does what it does";
    return;
  }
  for (const auto& attribute : function.attribute_proto()) {
    if (!HoldsGraph(attribute)) continue;
    facts.obstacle = absl::StrCat("its attribute '", Escaped(attribute.name()), "' is a graph");
    return;
  }
  facts.obstacle = ObstacleOfVersions(function);
  const auto imported = imports_.find("");
  const int64_t own = ImportedVersion(function, ""), models = imported == imports_.end() ? 0 : imported->second;
  if (!facts.obstacle || own <= 0 || models <= 0 || own == models) return;
  if (own > models) {
    facts.wanted_opset = own;
    if (model_stays_because_) {
      facts.obstacle =
          absl::StrCat(facts.obstacle.sentence(), "; the model cannot be lifted: ", model_stays_because_.sentence());
    }
    return;
  }
  bool shadows = false;  // the adapters would take such a call for the operator
  ForEachNodeWithin(function.node(), [&](const NodeProto& node) {
    shadows |= CanonicalDomain(node.domain()).empty() && Callee(node) >= 0;
  });
  if (shadows) return;
  LiftedFunction lifted = LiftFunction(function, static_cast<int>(models));
  facts.lifted = std::move(lifted.function);
  if (facts.lifted == nullptr) {
    facts.obstacle = absl::StrCat(facts.obstacle.sentence(), "; it cannot be lifted: ", lifted.obstacle.sentence());
  } else {
    facts.obstacle = ObstacleOfVersions(*facts.lifted);
  }
}

Reason InlinePlan::ObstacleOfVersions(const FunctionProto& function) {
  Reason obstacle = Reason::None();
  ForEachNodeWithin(function.node(), [&](const NodeProto& node) {
    if (!obstacle && Callee(node) < 0) obstacle = ObstacleOfOperator(node, function);
  });
  return obstacle;
}

// Inlined nodes mean what the model's imports say, so that must be what they meant before.
Reason InlinePlan::ObstacleOfOperator(const NodeProto& node, const FunctionProto& function) {
  const std::string domain(CanonicalDomain(node.domain()));
  const int64_t own = ImportedVersion(function, domain);
  if (own == 0) return Reason::None();
  const int64_t models = imports_.try_emplace(domain, own).first->second;
  if (models == own) return Reason::None();
  const OpSchema* schema = SchemaAt(node, own);
  if (schema != nullptr && schema == SchemaAt(node, models)) return Reason::None();
  return absl::StrCat("it uses ", Escaped(node.op_type()), " of ", Escaped(ShownDomain(domain)), " ", own,
                      ", which the model has at ", models);
}

const InlinePlan::Facts& InlinePlan::Measure(int index) {
  Facts& facts = facts_[static_cast<size_t>(index)];
  if (facts.bytes >= 0) return facts;
  const FunctionProto& function = this->function(index);
  Facts total;
  total.bytes = 0;
  for (const auto& node : function.node()) {
    total.bytes = SaturatedSum(total.bytes, static_cast<int64_t>(node.ByteSizeLong()));
  }
  for (const auto& info : function.value_info()) {
    total.bytes = SaturatedSum(total.bytes, static_cast<int64_t>(info.ByteSizeLong()));
  }
  ForEachNodeWithin(function.node(), [&](const NodeProto& node) {
    total.names = SaturatedSum(total.names, NumNames(node));
    for (const auto& attribute : node.attribute()) {
      if (!attribute.ref_attr_name().empty()) total.references = SaturatedSum(total.references, 1);
    }
    ForEachBody(node, [&](const onnx::GraphProto& body) { total.names = SaturatedSum(total.names, NumNames(body)); });
    if (Callee(node) >= 0 && !ObstacleTo(node)) AddCall(node, total);
  });
  for (const auto& attribute : function.attribute_proto()) {
    total.bytes =
        SaturatedSum(total.bytes, SaturatedProduct(total.references, static_cast<int64_t>(attribute.ByteSizeLong())));
  }
  total.obstacle = facts.obstacle;
  total.lifted = facts.lifted;
  total.wanted_opset = facts.wanted_opset;
  return facts_[static_cast<size_t>(index)] = total;
}

void InlinePlan::AddCall(const NodeProto& call, Facts& total) {
  const Facts callee = Measure(Callee(call));
  int64_t passed = 0;
  for (const auto& attribute : call.attribute()) passed += static_cast<int64_t>(attribute.ByteSizeLong());
  total.bytes = SaturatedSum(std::max<int64_t>(total.bytes, 0), callee.bytes);
  total.bytes = SaturatedSum(total.bytes, SaturatedProduct(callee.names, LongestName(call)));
  total.bytes = SaturatedSum(total.bytes, SaturatedProduct(callee.references, passed));
  total.names = SaturatedSum(total.names, callee.names);
  total.references = SaturatedSum(total.references, callee.references);
}

std::vector<bool> InlinePlan::CalledFunctions() const {
  std::vector<bool> called(index_.size(), false);
  std::vector<int> to_visit;
  const auto note = [&](const NodeProto& node) {
    const int callee = Callee(node);
    if (callee < 0 || called[static_cast<size_t>(callee)]) return;
    called[static_cast<size_t>(callee)] = true;
    to_visit.push_back(callee);
  };
  ForEachNodeWithin(model_.graph().node(), note);
  for (const auto& training : model_.training_info()) {
    ForEachNodeWithin(training.initialization().node(), note);
    ForEachNodeWithin(training.algorithm().node(), note);
  }
  while (!to_visit.empty()) {
    const int function = to_visit.back();
    to_visit.pop_back();
    ForEachNodeWithin(model_.functions(function).node(), note);
  }
  return called;
}

int InlinePlan::WantedOpset() const {
  int64_t wanted = 0;
  const std::vector<bool> called = CalledFunctions();
  for (size_t i = 0; i < called.size(); ++i) {
    if (called[i]) wanted = std::max(wanted, facts_[i].wanted_opset);
  }
  return static_cast<int>(std::min<int64_t>(wanted, INT32_MAX));
}

int64_t InlinePlan::AddedBytes() const { return std::max<int64_t>(main_.bytes, 0); }

}  // namespace amp
