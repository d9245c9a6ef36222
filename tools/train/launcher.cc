#include "tools/train/launcher.h"

#include <algorithm>
#include <cstdlib>
#include <initializer_list>
#include <optional>
#include <thread>

#include "absl/strings/numbers.h"
#include "ir/base/status.h"
#include "runtime/hardware/usable_threads.h"
#include "runtime/parallel/open_mpi.h"

namespace amp {
namespace {

// Returns the number of started processes, as Open MPI and the launchers of the MPICH family state it; 0 if something
// else starts it with PMIx, which does not.
int NumStarted() {
  for (const char* const name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}) {
    const char* const text = std::getenv(name);
    if (int number = 0; text != nullptr && absl::SimpleAtoi(text, &number) && number > 0) return number;
  }
  return std::getenv("PMIX_NAMESPACE") != nullptr ? 0 : 1;
}

// The first of these variables that holds a number.
std::optional<int> FirstNumber(std::initializer_list<const char*> names) {
  for (const char* const name : names) {
    const char* const text = std::getenv(name);
    if (int number = 0; text != nullptr && absl::SimpleAtoi(text, &number)) return number;
  }
  return std::nullopt;
}

// Lets the first rank print the error. All ranks that wait for a missing one learn of it at the same time, and cannot
// agree on who says so; the launcher ends the others with the first that exits.
void LetFirstRankSpeak() {
  constexpr std::chrono::milliseconds kForEach{3000}, kMost{9000};
  const int rank = FirstNumber({"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"}).value_or(0);
  std::this_thread::sleep_for(std::clamp(rank * kForEach, std::chrono::milliseconds(0), kMost));
}

}  // namespace

int NumberOnMachine() {
  return std::max(
      FirstNumber({"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "PMIX_LOCAL_RANK", "SLURM_LOCALID"}).value_or(0),
      0);
}

int ThreadsOfRank() {
  const int neighbours = FirstNumber({"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"}).value_or(1);
  return std::max(UsableThreads() / std::max(neighbours, 1), 1);
}

absl::StatusOr<std::unique_ptr<RankGroup>> OpenRanks(std::chrono::milliseconds most_silence) {
  const int num_started = NumStarted();
  if (num_started == 1) return nullptr;
  absl::StatusOr<std::unique_ptr<RankGroup>> ranks = OpenMpi(most_silence);
  if (absl::IsUnavailable(ranks.status())) LetFirstRankSpeak();
  if (!ranks.ok()) {
    return absl::Status(ranks.status().code(),
                        absl::StrCat("started as one of several processes: ", ranks.status().message()));
  }
  if (num_started == 0 || (*ranks)->size() == num_started) return ranks;
  return DeviceError("expected ", num_started, " ranks, as many as were started; found ", (*ranks)->size(),
                     ": the launcher is not of the MPI that amp-train was built with");
}

}  // namespace amp
