// What callers give as an input of a model.
#ifndef AMP_RUNTIME_RUN_CHECK_INPUT_H_
#define AMP_RUNTIME_RUN_CHECK_INPUT_H_

#include "absl/status/status.h"
#include "ir/graph/graph.h"
#include "runtime/kernel/tensor.h"

namespace amp {

// kInvalidArgument where `datum` is of another type than the model states for `input`, with the elements of sequences, or
// a tensor of another shape or order of elements, or one that Tensor::Of could not make.
absl::Status CheckInput(const Model& model, ValueId input, const Datum& datum);

}  // namespace amp

#endif  // AMP_RUNTIME_RUN_CHECK_INPUT_H_
