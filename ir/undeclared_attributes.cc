#include "ir/undeclared_attributes.h"

#include "absl/strings/str_cat.h"
#include "ir/schema.h"
#include "ir/status.h"
#include "onnx/defs/schema.h"
#include "onnx/onnx_pb.h"

namespace amp {

void RemoveUndeclaredAttributes(Model& model) {
  int removed = 0;
  std::string example;
  for (NodeId id = 0; id < model.num_nodes(); ++id) {
    const Node& node = model.node(id);
    if (node.erased || node.schema == nullptr || node.schema->is_signature()) continue;
    const auto& declared = node.schema->onnx()->attributes();
    for (int i = node.proto->attribute_size() - 1; i >= 0; --i) {
      const onnx::AttributeProto& attribute = node.proto->attribute(i);
      if (declared.count(attribute.name()) != 0) continue;
      if (removed++ == 0) example = absl::StrCat("'", Escaped(attribute.name()), "' of ", Escaped(model.NodeLabel(id)));
      onnx::NodeProto& proto = model.EditProto(id);
      if (attribute.has_s() && proto.doc_string().empty()) proto.set_doc_string(attribute.s());
      proto.mutable_attribute()->DeleteSubrange(i, 1);
    }
  }
  if (removed > 0) {
    model.AddWarning(
        absl::StrCat(removed, " attributes that their operators do not declare are removed, first ", example));
  }
}

}  // namespace amp
