#include "ir/schema/schema_index.h"

#include <algorithm>

#include "ir/schema/schema.h"
#include "onnx/defs/schema.h"

namespace amp {

const onnx::OpSchema* SchemaIndex::Find(absl::string_view domain, absl::string_view op_type, int64_t opset) {
  auto [it, inserted] = schemas_.try_emplace({domain, op_type, opset}, nullptr);
  if (inserted && opset >= 0 && opset <= INT32_MAX) {
    const OpSchema* schema = FindOpSchema(domain, op_type, static_cast<int>(opset));
    if (schema != nullptr) it->second = schema->onnx();
  }
  return it->second;
}

const std::vector<std::string>& SchemaIndex::RequiredAttributes(const onnx::OpSchema& schema) {
  auto [it, inserted] = required_.try_emplace(&schema);
  if (inserted) {
    for (const auto& [name, attribute] : schema.attributes()) {
      if (attribute.required) it->second.push_back(name);
    }
    std::sort(it->second.begin(), it->second.end());
  }
  return it->second;
}

bool SchemaIndex::AnyVersionDeclares(const onnx::OpSchema& schema, absl::string_view attribute) {
  auto [it, inserted] = declared_.try_emplace(&schema);
  for (int opset = inserted ? NewestOpset() : 0; opset > 0; --opset) {
    const onnx::OpSchema* other = onnx::OpSchemaRegistry::Schema(schema.Name(), opset, schema.domain());
    if (other == nullptr) break;  // introduced later
    opset = std::min(opset, other->SinceVersion());
    for (const auto& [name, unused] : other->attributes()) it->second.insert(name);
  }
  return it->second.contains(attribute);
}

}  // namespace amp
