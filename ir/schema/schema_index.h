// ONNX's schemas by (domain, operator, opset), remembered: a model asks for the same few over and over, and the
// registry answers slowly. Cheap to make; not thread-safe.
#ifndef AMP_IR_SCHEMA_SCHEMA_INDEX_H_
#define AMP_IR_SCHEMA_SCHEMA_INDEX_H_

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"

namespace onnx {
class OpSchema;
}

namespace amp {

class SchemaIndex {
 public:
  // Null if the operator is unknown under that opset. The strings must outlive the index.
  const onnx::OpSchema* Find(absl::string_view domain, absl::string_view op_type, int64_t opset);
  // Sorted.
  const std::vector<std::string>& RequiredAttributes(const onnx::OpSchema& schema);
  // Whether this or any other version of the operator has an attribute of that name.
  bool AnyVersionDeclares(const onnx::OpSchema& schema, absl::string_view attribute);

 private:
  absl::flat_hash_map<std::tuple<absl::string_view, absl::string_view, int64_t>, const onnx::OpSchema*> schemas_;
  absl::flat_hash_map<const onnx::OpSchema*, std::vector<std::string>> required_;
  absl::flat_hash_map<const onnx::OpSchema*, absl::flat_hash_set<std::string>> declared_;
};

}  // namespace amp

#endif  // AMP_IR_SCHEMA_SCHEMA_INDEX_H_
