#include "tools/train/finite_states.h"

#include <cmath>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "ir/base/status.h"
#include "passes/train/step_metadata.h"
#include "runtime/values/compare_values.h"

namespace amp {

absl::StatusOr<std::string> FirstNotFinite(const Trainer& trainer, StatesOf states) {
  for (const StepState& state : trainer.description().states) {
    const bool is_of_model = state.kind == StateKind::kWeight || state.kind == StateKind::kRunning;
    if (states == StatesOf::kModel && !is_of_model) continue;
    AMP_ASSIGN_OR_RETURN(const Tensor value, trainer.State(state.input));
    const auto count = absl::c_count_if(AsDoubles(value), [](double element) { return !std::isfinite(element); });
    if (count == 0) continue;
    return absl::StrFormat("'%s', %d of %d elements", Escaped(state.input), count, value.num_elements());
  }
  return std::string();
}

absl::Status CheckFiniteStates(const Trainer& trainer, StatesOf states, const std::string& flag,
                               const std::string& path) {
  AMP_ASSIGN_OR_RETURN(const std::string found, FirstNotFinite(trainer, states));
  if (found.empty()) return absl::OkStatus();
  return RefusedError(flag, ": ", Escaped(path),
                      " is not written: expected finite numbers, found NaN or infinities in ", found,
                      "; --allow-nan writes them");
}

}  // namespace amp
