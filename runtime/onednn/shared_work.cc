#include "runtime/onednn/shared_work.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <utility>

namespace amp::onednn {
namespace {

// Shared work that takes more than so many times its fastest time is tried alone. Two threads at best halve a time, so
// that work which takes less than twice the fastest time gains nothing alone.
constexpr float kSlow = 2;
constexpr float kWeightOfLast = 0.125F;

Sharing sharing_of_all = Sharing::kByTimes;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables): for tests

// Indexed by the number of bits of the number of elements.
thread_local std::array<WaitTimes, std::numeric_limits<size_t>::digits + 1> times_of_sizes;

float MeanWith(float seconds, float before) {
  return before == 0 ? seconds : before + kWeightOfLast * (seconds - before);
}

float Seconds(Clock::duration duration) { return std::chrono::duration<float>(duration).count(); }

template <typename Choose>
Choice ChooseUnlessSet(Choose choose) {
  if (sharing_of_all == Sharing::kByTimes) return choose();
  return {.is_alone = sharing_of_all == Sharing::kNever};
}

}  // namespace

void Trials::Add(bool is_trial, float seconds) {
  spent_ = is_trial ? 0 : spent_ + seconds;
  if (is_trial) last_ = std::min(seconds, kLongest);
}

Choice WorkTimes::Choose(bool trial_is_due) const {
  if (shared_ <= kSlow * fastest_shared_) return {};
  if (alone_ == 0) return {.is_alone = true};
  return {.is_alone = (alone_ < shared_) != trial_is_due, .is_trial = trial_is_due};
}

void WorkTimes::Add(bool is_alone, float seconds) {
  if (is_alone) {
    alone_ = MeanWith(seconds, alone_);
    return;
  }
  // The first times are longer than usual: caches are cold and threads are still being made.
  const bool are_first = fastest_shared_ > kSlow * seconds;
  shared_ = are_first ? seconds : MeanWith(seconds, shared_);
  if (fastest_shared_ == 0 || seconds < fastest_shared_) fastest_shared_ = seconds;
}

Choice WaitTimes::Choose(size_t shares, bool trial_is_due) const {
  if (waiting_ <= static_cast<float>(shares - 1) * working_) return {};
  return {.is_alone = !trial_is_due, .is_trial = trial_is_due};
}

void WaitTimes::Add(float working, float waiting) {
  working_ = MeanWith(working, working_);
  waiting_ = MeanWith(waiting, waiting_);
}

WorkScope::WorkScope(WorkTimes& times)
    : times_(times), choice_(ChooseUnlessSet([&] { return times_.Choose(times_.trials.IsDue()); })) {}

WorkScope::~WorkScope() {
  const float seconds = Seconds(Clock::now() - start_);
  times_.Add(choice_.is_alone, seconds);
  times_.trials.Add(choice_.is_trial, seconds);
}

WaitScope::WaitScope(size_t elements, size_t shares)
    : times_(times_of_sizes[static_cast<size_t>(std::bit_width(elements))]),
      choice_(ChooseUnlessSet([&] { return times_.Choose(shares, times_.trials.IsDue()); })) {}

WaitScope::~WaitScope() {
  const Clock::time_point end = Clock::now();
  if (!choice_.is_alone) times_.Add(Seconds(wait_ - start_), Seconds(end - wait_));
  times_.trials.Add(choice_.is_trial, Seconds(end - start_));
}

void SetSharing(Sharing sharing) { sharing_of_all = sharing; }

}  // namespace amp::onednn
