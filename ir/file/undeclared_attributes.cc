#include "ir/file/undeclared_attributes.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "ir/base/status.h"
#include "ir/file/model_walk.h"
#include "ir/schema/opset_imports.h"
#include "ir/schema/schema_index.h"
#include "onnx/onnx_pb.h"

namespace amp {
namespace {

class Remover {
 public:
  Remover(const onnx::ModelProto& model, int highest_opset) : model_(model), highest_opset_(highest_opset) {
    ForEachFunction(model, [&](absl::string_view domain, absl::string_view name) { functions_.emplace(domain, name); });
  }

  void Run(onnx::GraphProto& graph) {
    for (onnx::NodeProto& node : *graph.mutable_node()) {
      RemoveFrom(node);
      ForEachMutableBody(node, [&](onnx::GraphProto& body) { Run(body); });
    }
  }

  std::string Sentence() const {
    if (num_removed_ == 0) return "";
    return absl::StrCat(num_removed_, " attributes that their operators do not declare are removed, first ", first_);
  }

 private:
  const onnx::OpSchema* SchemaOf(const onnx::NodeProto& node) {
    const absl::string_view domain = CanonicalDomain(node.domain());
    if (functions_.contains(std::make_pair(std::string(domain), node.op_type()))) return nullptr;
    const onnx::OpSchema* schema = schemas_.Find(domain, node.op_type(), ImportedVersion(model_, domain));
    return schema != nullptr || !domain.empty() ? schema : schemas_.Find(domain, node.op_type(), highest_opset_);
  }

  void RemoveFrom(onnx::NodeProto& node) {
    const onnx::OpSchema* schema = node.attribute().empty() ? nullptr : SchemaOf(node);
    if (schema == nullptr) return;
    for (int i = node.attribute_size() - 1; i >= 0; --i) {
      const onnx::AttributeProto& attribute = node.attribute(i);
      if (schemas_.AnyVersionDeclares(*schema, attribute.name())) continue;
      const std::string& label = node.name().empty() ? node.op_type() : node.name();
      if (num_removed_++ == 0) first_ = absl::StrCat("'", Escaped(attribute.name()), "' of ", Escaped(label));
      if (attribute.has_s() && node.doc_string().empty()) node.set_doc_string(attribute.s());
      node.mutable_attribute()->DeleteSubrange(i, 1);
    }
  }

  const onnx::ModelProto& model_;
  const int highest_opset_;
  SchemaIndex schemas_;
  std::set<std::pair<std::string, std::string>> functions_;  // a call is not the operator of that name
  int num_removed_ = 0;
  std::string first_;
};

}  // namespace

std::string RemoveUndeclaredAttributes(onnx::ModelProto& model, int highest_opset) {
  Remover remover(model, highest_opset);
  remover.Run(*model.mutable_graph());
  return remover.Sentence();
}

}  // namespace amp
