// Names of operators, in lists and signatures, that mean nothing for a model: most likely they are misspelt.
//
//   --deny com.microsft::Gelu             unknown operator; did you mean 'com.microsoft::Gelu'?
//   --allow my.domain::Gate               in the model, but nobody knows its types: a signature is missing
//   --op-signature 'my.domain::Gat(T)->T' the model has none; did you mean 'my.domain::Gate'?
//
// Operators of ONNX's own domains are checked where lists are read (passes/classify/op_list_file.h); those of others
// may be the model's, which nobody knows there yet.
#ifndef AMP_PASSES_RECORD_CHECK_OPERATOR_NAMES_H_
#define AMP_PASSES_RECORD_CHECK_OPERATOR_NAMES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "ir/schema/op_signatures.h"
#include "passes/classify/op_lists.h"

namespace onnx {
class ModelProto;
}

namespace amp {

// The treatment of names that neither ONNX, nor a signature, nor the model has: a warning or an error. kRefuseAbsent:
// it is also an error if a flag puts an operator on a list and the model has no node of it.
enum class UnknownNames { kWarn, kRefuse, kRefuseAbsent };

// One warning for each such name. `model` as it is in the file, before functions are inlined. Error but with
// kWarn: kInvalidArgument for the first name that nobody has, or that the model has not.
absl::StatusOr<std::vector<std::string>> CheckOperatorNames(const onnx::ModelProto& model, const OpLists& lists,
                                                            const OpSignatures& signatures, UnknownNames unknown);

// `error` of loading lists; if it is about an operator that ONNX does not have, with what `model` calls so: an operator
// of another domain, or a node.
absl::Status ExplainUnknownOperator(const absl::Status& error, const onnx::ModelProto& model);

}  // namespace amp

#endif  // AMP_PASSES_RECORD_CHECK_OPERATOR_NAMES_H_
