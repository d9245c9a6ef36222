// The threads that oneDNN and the kernels of this project share: the calling thread's OpenMP threads.
#ifndef AMP_RUNTIME_ONEDNN_TEAM_H_
#define AMP_RUNTIME_ONEDNN_TEAM_H_

#include <cstddef>

#include "absl/functional/function_ref.h"

namespace amp::onednn {

// Uses `count` threads, or as many as the system has if these are fewer; one where the process was forked after it had
// used several.
void SetTeamSize(int count);
size_t TeamSize();
// From now on, the team's threads compute in the calling thread's float mode (runtime/kernel/float_mode.h).
void ShareFloatModeWithTeam();
// Works like Team::Run (runtime/kernel/parallel_for.h).
void RunOnTeam(size_t count, size_t elements, absl::FunctionRef<void(size_t)> work);

}  // namespace amp::onednn

#endif  // AMP_RUNTIME_ONEDNN_TEAM_H_
