// Whether observed values are those of the model at hand: ranges kept in a file outlive the model that they were of.
//
//   ranges of {a, h}, the model has x, a, h, y      no range of 'x' and 'y': a warning
//   ranges of {a, q}, the model has a               'q' names no value: a warning
//   ranges of {p, q}, or of nothing                 another model's: an error
#ifndef AMP_PASSES_GUARD_CHECK_OBSERVED_NAMES_H_
#define AMP_PASSES_GUARD_CHECK_OBSERVED_NAMES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "ir/base/observed_values.h"
#include "ir/graph/graph.h"

namespace amp {

// One sentence for what the model's float32 values lack, one for names that are none of its. Values in bodies may lack
// theirs: perhaps no run came there. REQUIRES: types are inferred. Error: kInvalidArgument where no name fits.
absl::StatusOr<std::vector<std::string>> CheckObservedNames(const Model& model, const ObservedValues& observed);

}  // namespace amp

#endif  // AMP_PASSES_GUARD_CHECK_OBSERVED_NAMES_H_
