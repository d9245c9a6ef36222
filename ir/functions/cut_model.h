// Cuts a model down to what one of its outputs needs.
//
//   x, w, labels -> logits, loss, w.next        cut to logits, of w known        x -> logits, w is a constant
//
// Nodes, initializers, inputs, types of values and functions that nobody needs any more go, and so does training_info.
#ifndef AMP_IR_FUNCTIONS_CUT_MODEL_H_
#define AMP_IR_FUNCTIONS_CUT_MODEL_H_

#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"

namespace onnx {
class ModelProto;
}

namespace amp {

// `constants`: inputs that have initializers, which no caller is to override any more. `metadata`: keys of
// metadata_props that do not hold for the rest. Errors: kDataLoss, the model has no such output. REQUIRES: the model is
// valid.
absl::Status CutToOutput(onnx::ModelProto& model, const std::string& output,
                         const absl::flat_hash_set<std::string>& constants,
                         const absl::flat_hash_set<std::string>& metadata);

std::vector<std::string> OutputNames(const onnx::ModelProto& model);

// The name of the logits behind `output`, rows [N, C] of an output of the main graph: of what a Softmax over classes
// reads that gives it, which becomes an output as well; of the output itself where it is `logits` by name, or a product
// or a sum gives it. "" where neither is so: what comes in between may have changed what the rows mean.
std::string AddLogitsOutput(onnx::ModelProto& model, const std::string& output, const std::string& logits);

// A node of the main graph that says of itself that it runs as in training: Dropout that is told so by an input,
// BatchNormalization by its attribute; "" if there is none. "'drop' (Dropout)": escaped.
std::string FindTrainingNode(const onnx::ModelProto& model);

}  // namespace amp

#endif  // AMP_IR_FUNCTIONS_CUT_MODEL_H_
