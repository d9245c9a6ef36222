// A RankGroup in a thread of its own, over a Transport: what is started goes on while the caller computes.
//
//   mean of n elements over 4 ranks      each rank owns a quarter:   0 | 1 | 2 | 3
//     exchange     every rank sends each quarter to its owner, who adds them in the order of ranks and divides
//     exchange     every owner sends its quarter of the mean to all
//
// So every element is computed once, by one rank, in one order: all have the same bits, whatever the network does. Each
// rank hears of the one before it: by the system, where that runs on the same machine, and by signs of life, which that
// one's thread gives whatever its caller does meanwhile. When there are none for too long, or the process has ended,
// everything that is under way fails.
// Source of the scheme: Rabenseifner, "Optimization of collective reduction operations" (2004), with one owner per
// part.
#ifndef AMP_RUNTIME_PARALLEL_EXCHANGE_RANK_GROUP_H_
#define AMP_RUNTIME_PARALLEL_EXCHANGE_RANK_GROUP_H_

#include <chrono>
#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "runtime/parallel/rank_group.h"
#include "runtime/parallel/transport.h"

namespace amp {

// Called in the thread that uses the transport from then on; null: there is none.
using TransportOpener = std::function<std::unique_ptr<Transport>()>;

inline constexpr std::chrono::milliseconds kUsualSilence{20'000};

// `most_silence`: the time without a sign of life after which the rank before counts as lost; `open` and the end of the
// transport may take no longer either. Errors: kUnimplemented, `open` returned null; kUnavailable, a rank was lost
// already, or `open` took longer: its thread is then left behind.
absl::StatusOr<std::unique_ptr<RankGroup>> MakeExchangeRankGroup(
    const TransportOpener& open, std::chrono::milliseconds most_silence = kUsualSilence);

}  // namespace amp

#endif  // AMP_RUNTIME_PARALLEL_EXCHANGE_RANK_GROUP_H_
