// Checks a value that a caller passes as an input of a model.
#ifndef AMP_RUNTIME_RUN_CHECK_INPUT_H_
#define AMP_RUNTIME_RUN_CHECK_INPUT_H_

#include "absl/status/status.h"
#include "ir/graph/graph.h"
#include "runtime/kernel/tensor.h"

namespace amp {

// Returns kInvalidArgument if `datum` (or an element of a sequence in it) does not have the type that the model
// declares for `input`, or if it is a tensor of another shape, of a layout that a run cannot convert, or one that
// Tensor::Of could not make.
absl::Status CheckInput(const Model& model, ValueId input, const Datum& datum);

}  // namespace amp

#endif  // AMP_RUNTIME_RUN_CHECK_INPUT_H_
