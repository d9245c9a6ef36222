// Everything about a model message that can be judged before a library sees it: ONNX's own checker, its inference
// functions and the kernels below the executor read past ends, divide by zero or recurse for ever when it does not
// hold.
//
// Labels in the errors: the node's or tensor's name, what was expected, what was found. Linear time. Names, SSA form
// and cycles are judged where the graph is built (Model::Create).
#ifndef AMP_IR_FILE_VALIDATE_H_
#define AMP_IR_FILE_VALIDATE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "ir/base/limits.h"
#include "ir/file/model_file.h"

namespace onnx {
class ModelProto;
}

namespace amp {

// Errors: kDataLoss (malformed or unsupported), kResourceExhausted (a limit), kPermissionDenied (an external location
// that leaves the model's directory). `left_out`: sizes of payloads that are not in the message.
absl::Status ValidateModel(const onnx::ModelProto& model, const Limits& limits, std::vector<std::string>* warnings,
                           const LeftOutPayloads* left_out = nullptr);

}  // namespace amp

#endif  // AMP_IR_FILE_VALIDATE_H_
