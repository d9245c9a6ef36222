// The value that a flag names.
#ifndef AMP_PASSES_TRAIN_FIND_VALUE_H_
#define AMP_PASSES_TRAIN_FIND_VALUE_H_

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ir/graph/graph.h"

namespace amp {

// The values that a flag takes, for its error message.
struct WantedValue {
  absl::string_view what = "a tensor";
  std::function<bool(ValueId)> fits;  // those are suggested, from the last on; nothing: the model's outputs are
};

// Finds a value of the main graph. Errors: kInvalidArgument: "--logits 'lgits': expected the name of a tensor, found
// none called that; did you mean 'logits'?", with the outputs of a node of that name, or with values that fit if
// nothing is close.
absl::StatusOr<ValueId> FindNamedValue(const Model& model, const std::string& name, absl::string_view flag,
                                       const WantedValue& wanted = {});

// "; there are 'y', 'x'": names of what fits, the end of an error message.
std::string SuggestValues(const Model& model, const WantedValue& wanted);

}  // namespace amp

#endif  // AMP_PASSES_TRAIN_FIND_VALUE_H_
