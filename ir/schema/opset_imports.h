// Opset imports of a model. "" and "ai.onnx" are one domain, which is to be imported once.
//
//   "" 19, "" 12, ai.onnx 12   with an Unsqueeze of one input (valid up to 12)   ->   "" 12, and a warning
#ifndef AMP_IR_SCHEMA_OPSET_IMPORTS_H_
#define AMP_IR_SCHEMA_OPSET_IMPORTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace onnx {
class FunctionProto;
class ModelProto;
}  // namespace onnx

namespace amp {

inline absl::string_view CanonicalDomain(absl::string_view domain) { return domain == "ai.onnx" ? "" : domain; }
inline absl::string_view ShownDomain(absl::string_view domain) { return domain.empty() ? "ai.onnx" : domain; }

// The version of `domain` that is imported, the first one where there are several; 0 if none is.
int64_t ImportedVersion(const onnx::ModelProto& model, absl::string_view domain);
int64_t ImportedVersion(const onnx::FunctionProto& function, absl::string_view domain);

// A domain that is imported several times gets the highest of its versions under which every node has a schema that it
// fits; failing that, the highest under which no node contradicts its schema; failing that, the highest. One warning
// for each domain with different versions. The same for the imports of each model-local function. Nodes that fit under
// none of the versions have no say. Returns the highest version of ai.onnx that the model imported.
int RepairOpsetImports(onnx::ModelProto& model, std::vector<std::string>* warnings);

}  // namespace amp

#endif  // AMP_IR_SCHEMA_OPSET_IMPORTS_H_
