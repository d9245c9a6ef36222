// Whether this process is one of several that were started together, as by mpirun -n 2.
#ifndef AMP_TOOLS_TRAIN_LAUNCHER_H_
#define AMP_TOOLS_TRAIN_LAUNCHER_H_

#include <chrono>
#include <memory>

#include "absl/status/statusor.h"
#include "runtime/parallel/rank_group.h"

namespace amp {

// The ranks of that run; null where this process runs alone. Looks at the environment. Errors: those of OpenMpi;
// kUnimplemented, MPI knows of another number of processes than what started them: it is another MPI's.
absl::StatusOr<std::unique_ptr<RankGroup>> OpenRanks(std::chrono::milliseconds most_silence);

// Returns the default number of threads of a rank: its share of the processors that the process may use, at least 1. If
// each rank of a machine took all, they would wait for each other.
int ThreadsOfRank();

// Which of the ranks on its machine this process is, from 0; 0 where nobody says.
int NumberOnMachine();

}  // namespace amp

#endif  // AMP_TOOLS_TRAIN_LAUNCHER_H_
