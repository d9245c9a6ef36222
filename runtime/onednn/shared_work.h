// Decides whether threads share a piece of work or the calling thread does it alone, by the times that both took
// lately.
//
// A parallel region ends with its last thread. Where other processes use the same processors, that thread may have to
// wait for one: a region of 0.1 ms then takes a time slice of the system, 3 ms or more, and one thread alone is faster.
// So shared work is measured. It is shared as long as it takes no longer than usual. When it takes longer, it is done
// alone if that is faster, and the slower way is tried again now and then.
//
//   WorkTimes times;                     one for each kernel
//   {
//     const WorkScope scope(times);      decides, and measures until its end
//     scope.is_alone() ? do_all() : share();
//   }
//
// REQUIRES: the work gives the same bits both ways.
#ifndef AMP_RUNTIME_ONEDNN_SHARED_WORK_H_
#define AMP_RUNTIME_ONEDNN_SHARED_WORK_H_

#include <atomic>
#include <chrono>
#include <cstddef>

#include "runtime/onednn/interface.h"

namespace amp::onednn {

// How a piece of work is done. A trial takes the way that has been slower.
struct Choice {
  bool is_alone = false, is_trial = false;
};

// Decides when the slower way is tried. Trials cost about 5 % at most: the next one is due when the work has since
// taken twenty times as long as the last trial. A trial longer than kLongest seconds (the process stood still) counts
// as that.
class Trials {
 public:
  bool IsDue() const { return spent_ >= kBetween * last_; }
  void Add(bool is_trial, float seconds);

 private:
  static constexpr float kBetween = 20, kLongest = 0.05F;
  std::atomic<float> last_ = 0, spent_ = 0;
};

// The times that a kernel took, in seconds. Threads that measure at the same time may lose each other's figures.
class WorkTimes {
 public:
  Trials trials;

  Choice Choose(bool trial_is_due) const;
  void Add(bool is_alone, float seconds);

 private:
  std::atomic<float> shared_ = 0, alone_ = 0, fastest_shared_ = 0;  // 0: not measured yet
};

// The seconds that the calling thread took for its own equal share of the work, and then waited for the others.
class WaitTimes {
 public:
  Trials trials;

  Choice Choose(size_t shares, bool trial_is_due) const;
  void Add(float working, float waiting);

 private:
  float working_ = 0, waiting_ = 0;
};

using Clock = std::chrono::steady_clock;

class WorkScope {
 public:
  explicit WorkScope(WorkTimes& times);
  ~WorkScope();
  WorkScope(const WorkScope&) = delete;
  WorkScope& operator=(const WorkScope&) = delete;

  bool is_alone() const { return choice_.is_alone; }

 private:
  WorkTimes& times_;
  Clock::time_point start_ = Clock::now();
  Choice choice_;
};

// Like WorkScope, for work on `elements` elements in equal shares, one of which is the calling thread's.
class WaitScope {
 public:
  WaitScope(size_t elements, size_t shares);
  ~WaitScope();
  WaitScope(const WaitScope&) = delete;
  WaitScope& operator=(const WaitScope&) = delete;

  bool is_alone() const { return choice_.is_alone; }
  // To be called when the calling thread has done its share.
  void BeginWait() { wait_ = Clock::now(); }

 private:
  WaitTimes& times_;
  Clock::time_point start_ = Clock::now(), wait_ = start_;
  Choice choice_;
};

// Sets how all work is shared. For tests. Must not be called while anything runs.
void SetSharing(Sharing sharing);

}  // namespace amp::onednn

#endif  // AMP_RUNTIME_ONEDNN_SHARED_WORK_H_
