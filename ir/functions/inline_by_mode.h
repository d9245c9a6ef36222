// Inlining as a caller asks for it (ir/base/choices.h), from the message as it was loaded to one that is valid again.
#ifndef AMP_IR_FUNCTIONS_INLINE_BY_MODE_H_
#define AMP_IR_FUNCTIONS_INLINE_BY_MODE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "ir/base/choices.h"
#include "ir/base/limits.h"
#include "ir/functions/inline_functions.h"

namespace google::protobuf {
class Arena;
}

namespace amp {

// Lifts the model to the opset of the functions that it calls, where that is needed, inlines, and validates: references
// to attributes become values by that, which nobody has judged before. `arena`: the model's; another one may come back.
// `opaque`: further functions whose calls stay (InlineOptions). REQUIRES: ValidateModel(model) passed. Errors: those of
// LiftModelToFunctions, InlineFunctions and ValidateModel.
absl::StatusOr<InlinedFunctions> InlineByMode(std::unique_ptr<google::protobuf::Arena>& arena, onnx::ModelProto& model,
                                              FunctionMode mode, const Limits& limits,
                                              std::vector<std::string> opaque = {});

// Inlines the functions of a model in memory and returns a new model. The old one's ids mean nothing in it, names stay,
// and types are inferred. `signatures`: those of Model::Create. REQUIRES: as above, and no weights are to be converted
// yet.
absl::StatusOr<std::unique_ptr<Model>> InlineByMode(std::unique_ptr<Model> model, FunctionMode mode,
                                                    std::shared_ptr<const OpSignatures> signatures,
                                                    const Limits& limits);

}  // namespace amp

#endif  // AMP_IR_FUNCTIONS_INLINE_BY_MODE_H_
