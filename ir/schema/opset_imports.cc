#include "ir/schema/opset_imports.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <set>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "ir/base/status.h"
#include "ir/schema/schema.h"
#include "ir/schema/schema_index.h"
#include "onnx/defs/schema.h"
#include "onnx/onnx_pb.h"

namespace amp {
namespace {

template <typename Imports>
int64_t VersionIn(const Imports& imports, absl::string_view domain) {
  for (const auto& import : imports) {
    if (CanonicalDomain(import.domain()) == CanonicalDomain(domain)) return import.version();
  }
  return 0;
}

using ImportList = google::protobuf::RepeatedPtrField<onnx::OperatorSetIdProto>;
using NodeList = google::protobuf::RepeatedPtrField<onnx::NodeProto>;

// Nodes by domain; of nodes that no schema can tell apart, one.
class NodeSamples {
 public:
  void Add(const NodeList& nodes) {
    for (const auto& node : nodes) {
      std::string key =
          absl::StrCat(node.domain(), "\n", node.op_type(), "\n", node.input_size(), " ", node.output_size());
      for (const auto& attribute : node.attribute()) absl::StrAppend(&key, "\n", attribute.name());
      if (seen_.insert(std::move(key)).second) by_domain_[std::string(CanonicalDomain(node.domain()))].push_back(&node);
      for (const auto& attribute : node.attribute()) {
        if (attribute.has_g()) Add(attribute.g().node());
        for (const auto& graph : attribute.graphs()) Add(graph.node());
      }
    }
  }
  const std::vector<const onnx::NodeProto*>& Of(const std::string& domain) { return by_domain_[domain]; }

 private:
  absl::flat_hash_set<std::string> seen_;
  std::map<std::string, std::vector<const onnx::NodeProto*>> by_domain_;
};

enum class Fit { kNoSchema, kContradicts, kFits };

Fit FitOf(const onnx::NodeProto& node, absl::string_view domain, int64_t version, SchemaIndex& schemas) {
  const onnx::OpSchema* schema = schemas.Find(domain, node.op_type(), version);
  if (schema == nullptr) return Fit::kNoSchema;
  const bool arity = node.input_size() >= schema->min_input() && node.input_size() <= schema->max_input() &&
                     node.output_size() >= schema->min_output() && node.output_size() <= schema->max_output();
  if (schema->deprecated() || !arity) return Fit::kContradicts;
  for (const auto& attribute : node.attribute()) {
    if (schema->attributes().count(attribute.name()) != 0) continue;
    if (schemas.AnyVersionDeclares(*schema, attribute.name())) return Fit::kContradicts;
  }
  return Fit::kFits;
}

int64_t ChooseVersion(const std::string& domain, const std::set<int64_t>& versions,
                      const std::vector<const onnx::NodeProto*>& nodes) {
  std::vector<int64_t> covered;  // by the registry, newest first; about others it has nothing to say
  const auto& ranges = onnx::OpSchemaRegistry::DomainToVersionRange::Instance().Map();
  if (auto range = ranges.find(domain); range != ranges.end()) {
    for (auto version = versions.rbegin(); version != versions.rend(); ++version) {
      if (*version >= 1 && *version <= range->second.second) covered.push_back(*version);
    }
  }
  SchemaIndex schemas;
  std::vector<bool> all_fit(covered.size(), true), none_contradicts(covered.size(), true);
  for (const onnx::NodeProto* node : nodes) {
    std::vector<Fit> fits;
    fits.reserve(covered.size());
    for (const int64_t version : covered) fits.push_back(FitOf(*node, domain, version, schemas));
    if (std::find(fits.begin(), fits.end(), Fit::kFits) == fits.end()) continue;
    for (size_t i = 0; i < fits.size(); ++i) {
      all_fit[i] = all_fit[i] && fits[i] == Fit::kFits;
      none_contradicts[i] = none_contradicts[i] && fits[i] != Fit::kContradicts;
    }
  }
  for (const auto* good : {&all_fit, &none_contradicts}) {
    const auto first = std::find(good->begin(), good->end(), true);
    if (first != good->end()) return covered[static_cast<size_t>(first - good->begin())];
  }
  return *versions.rbegin();
}

bool HasDuplicates(const ImportList& list) {
  absl::flat_hash_set<absl::string_view> seen;
  return std::any_of(list.begin(), list.end(),
                     [&](const auto& import) { return !seen.insert(CanonicalDomain(import.domain())).second; });
}

void RepairList(ImportList* list, const std::function<void(NodeSamples*)>& collect, absl::string_view where,
                std::vector<std::string>* warnings) {
  if (!HasDuplicates(*list)) return;
  NodeSamples samples;
  collect(&samples);
  std::map<std::string, std::set<int64_t>> versions;
  std::vector<std::string> order;
  for (const auto& import : *list) {
    const std::string domain(CanonicalDomain(import.domain()));
    auto& of_domain = versions[domain];
    if (of_domain.empty()) order.push_back(domain);
    of_domain.insert(import.version());
  }
  ImportList repaired;
  for (const std::string& domain : order) {
    const std::set<int64_t>& of_domain = versions[domain];
    auto* import = repaired.Add();
    import->set_domain(domain);
    import->set_version(of_domain.size() == 1 ? *of_domain.begin()
                                              : ChooseVersion(domain, of_domain, samples.Of(domain)));
    if (of_domain.size() == 1) continue;
    warnings->push_back(absl::StrCat(where, " imports several versions of domain ", Escaped(ShownDomain(domain)),
                                     "; version ", import->version(), " is used"));
  }
  list->CopyFrom(repaired);
}

}  // namespace

int64_t ImportedVersion(const onnx::ModelProto& model, absl::string_view domain) {
  return VersionIn(model.opset_import(), domain);
}

int64_t ImportedVersion(const onnx::FunctionProto& function, absl::string_view domain) {
  return VersionIn(function.opset_import(), domain);
}

int RepairOpsetImports(onnx::ModelProto& model, std::vector<std::string>* warnings) {
  int64_t highest = 0;
  for (const auto& import : model.opset_import()) {
    if (CanonicalDomain(import.domain()).empty()) highest = std::max(highest, int64_t{import.version()});
  }
  RepairList(
      model.mutable_opset_import(),
      [&](NodeSamples* samples) {
        samples->Add(model.graph().node());
        for (const auto& training : model.training_info()) {
          samples->Add(training.initialization().node());
          samples->Add(training.algorithm().node());
        }
      },
      "the model", warnings);
  for (auto& function : *model.mutable_functions()) {
    RepairList(
        function.mutable_opset_import(), [&](NodeSamples* samples) { samples->Add(function.node()); },
        absl::StrCat("function '", Escaped(function.name()), "'"), warnings);
  }
  return static_cast<int>(std::min<int64_t>(highest, std::numeric_limits<int>::max()));
}

}  // namespace amp
