// Whether what is given for an input is what the model declares.
#ifndef AMP_RUNTIME_CHECK_INPUT_H_
#define AMP_RUNTIME_CHECK_INPUT_H_

#include "absl/status/status.h"
#include "ir/graph/graph.h"
#include "runtime/kernel/tensor.h"

namespace amp {

// kInvalidArgument "input 'x': expected float32[2,n], found float32[3]" for another kind, type or shape.
absl::Status CheckInput(const Model& model, ValueId input, const Datum& datum);

}  // namespace amp

#endif  // AMP_RUNTIME_CHECK_INPUT_H_
