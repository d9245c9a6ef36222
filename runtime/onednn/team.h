// The threads that oneDNN and the kernels of this project share: OpenMP's, of the calling thread.
#ifndef AMP_RUNTIME_ONEDNN_TEAM_H_
#define AMP_RUNTIME_ONEDNN_TEAM_H_

#include <cstddef>

#include "absl/functional/function_ref.h"

namespace amp::onednn {

// As many threads as the system has, `count` at most.
void SetTeamSize(int count);
size_t TeamSize();
// The team's threads compute in the calling thread's mode (runtime/kernel/float_mode.h) from here on.
void ShareFloatModeWithTeam();
// As Team::Run (runtime/kernel/parallel_for.h).
void RunOnTeam(size_t count, size_t elements, absl::FunctionRef<void(size_t)> work);

}  // namespace amp::onednn

#endif  // AMP_RUNTIME_ONEDNN_TEAM_H_
