#include "runtime/onednn/team.h"

#include <omp.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <vector>

#include "runtime/kernel/float_mode.h"
#include "runtime/onednn/held_signals.h"
#include "runtime/onednn/shared_work.h"

namespace amp::onednn {
namespace {

// Finds out how many threads the system provides, as OpenMP ends the process if it cannot get a thread. All threads
// that it may want are made here first, at the same time, with stacks as large as OpenMP's. Their resources stay with
// the process for OpenMP's threads.
class ThreadsAtOnce {
 public:
  explicit ThreadsAtOnce(int most) {
    threads_.reserve(static_cast<size_t>(most));
    pthread_mutex_lock(&are_to_stay_);
  }
  ~ThreadsAtOnce() {
    pthread_mutex_unlock(&are_to_stay_);
    for (const pthread_t thread : threads_) pthread_join(thread, nullptr);
  }
  ThreadsAtOnce(const ThreadsAtOnce&) = delete;
  ThreadsAtOnce& operator=(const ThreadsAtOnce&) = delete;

  bool MakeOne() {
    pthread_t thread;
    if (pthread_create(&thread, nullptr, Stay, &are_to_stay_) != 0) return false;
    threads_.push_back(thread);
    return true;
  }

 private:
  static void* Stay(void* are_to_stay) {
    pthread_mutex_lock(static_cast<pthread_mutex_t*>(are_to_stay));
    pthread_mutex_unlock(static_cast<pthread_mutex_t*>(are_to_stay));
    return nullptr;
  }

  pthread_mutex_t are_to_stay_ = PTHREAD_MUTEX_INITIALIZER;
  std::vector<pthread_t> threads_;
};

// Returns how many of `count` threads, the calling one included, OpenMP can have.
int FindThreads(int count) {
  ThreadsAtOnce threads(count);
  int had = 1;
  while (had < count && threads.MakeOne()) ++had;
  return had;
}

// The most threads that the calling thread has asked for, and how many of them the system had.
struct Threads {
  int asked_for = 1, had = 1;
};

// A process that was forked has the thread alone that forked it, and OpenMP waits for the others for ever.
std::atomic<bool> is_forked = false;

void WatchForks() {
  static const bool watches = [] { return pthread_atfork(nullptr, nullptr, [] { is_forked = true; }) == 0; }();
  (void)watches;
}

}  // namespace

void SetTeamSize(int count) {
  thread_local Threads of_thread;
  if (is_forked) count = 1;
  if (count > 1) WatchForks();
  if (count > of_thread.asked_for) of_thread = {count, FindThreads(count)};
  omp_set_num_threads(std::min(count, of_thread.had));
}

size_t TeamSize() { return static_cast<size_t>(omp_get_max_threads()); }

void ShareFloatModeWithTeam() {
  const FloatMode mode;
#pragma omp parallel
  {
    if (omp_get_thread_num() != 0) HoldSignalsOfWorker();
    mode.Set();
  }
}

void RunOnTeam(size_t count, size_t elements, absl::FunctionRef<void(size_t)> work) {
  WaitScope scope(elements, count);
  if (scope.is_alone()) {
    for (size_t i = 0; i < count; ++i) work(i);
    return;
  }
  const FloatMode mode;
#pragma omp parallel num_threads(static_cast <int>(count))
  {
    if (omp_get_thread_num() != 0) HoldSignalsOfWorker();
#pragma omp for schedule(static, 1) nowait
    for (size_t i = 0; i < count; ++i) {
      const FloatModeScope as_caller(mode);
      work(i);
    }
#pragma omp master
    scope.BeginWait();
  }
}

}  // namespace amp::onednn
