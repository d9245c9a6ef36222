// Keeps NaN and infinities out of the files that a run of training writes.
#ifndef AMP_TOOLS_TRAIN_FINITE_STATES_H_
#define AMP_TOOLS_TRAIN_FINITE_STATES_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tools/library/trainer.h"

namespace amp {

// The states that a file has: a model the weights and running statistics, a checkpoint all of them.
enum class StatesOf { kModel, kCheckpoint };

// The first of these states that has NaN or an infinity: "'fc1.weight', 16 of 32 elements"; "" where there is none.
absl::StatusOr<std::string> FirstNotFinite(const Trainer& trainer, StatesOf states);

// Errors: kPermissionDenied, with the state, for a file that would get NaN or an infinity. `flag`: what writes it.
absl::Status CheckFiniteStates(const Trainer& trainer, StatesOf states, const std::string& flag,
                               const std::string& path);

}  // namespace amp

#endif  // AMP_TOOLS_TRAIN_FINITE_STATES_H_
