// Opens the shared object that holds MPI, and begins a run of its ranks.
#ifndef AMP_RUNTIME_PARALLEL_OPEN_MPI_H_
#define AMP_RUNTIME_PARALLEL_OPEN_MPI_H_

#include <chrono>
#include <memory>

#include "absl/status/statusor.h"
#include "runtime/parallel/exchange_rank_group.h"

namespace amp {

// Joins the ranks that MPI started; to be called once in a process. Errors: kUnimplemented, this was built without MPI,
// or MPI does not start; kUnavailable, a rank was lost already.
absl::StatusOr<std::unique_ptr<RankGroup>> OpenMpi(std::chrono::milliseconds most_silence = kUsualSilence);

}  // namespace amp

#endif  // AMP_RUNTIME_PARALLEL_OPEN_MPI_H_
