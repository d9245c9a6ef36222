// The value that a flag names.
#ifndef AMP_PASSES_TRAIN_FIND_VALUE_H_
#define AMP_PASSES_TRAIN_FIND_VALUE_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ir/graph/graph.h"

namespace amp {

// Of the main graph. kInvalidArgument: "--logits 'lgits': the model has no value of this name; did you mean 'logits'?",
// with the model's outputs where nothing is close.
absl::StatusOr<ValueId> FindNamedValue(const Model& model, const std::string& name, absl::string_view flag);

}  // namespace amp

#endif  // AMP_PASSES_TRAIN_FIND_VALUE_H_
