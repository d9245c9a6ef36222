#include "runtime/kernel/parallel_for.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "absl/synchronization/mutex.h"

namespace amp {
namespace {

// Waking a thread and waiting for it costs as much as what is done to some thousand elements.
constexpr size_t kLeastElements = size_t{1} << 14;

size_t least_elements = kLeastElements;
thread_local const Team* current = nullptr;

// The first error of several threads.
class FirstError {
 public:
  void Keep(std::exception_ptr error) {
    const absl::MutexLock lock(&mutex_);
    if (error_ == nullptr) error_ = std::move(error);
  }
  void Rethrow() {
    const absl::MutexLock lock(&mutex_);
    if (error_ != nullptr) std::rethrow_exception(error_);
  }

 private:
  absl::Mutex mutex_;
  std::exception_ptr error_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

TeamScope::TeamScope(const Team* team) : before_(current) { current = team; }
TeamScope::~TeamScope() { current = before_; }

size_t MostShares() { return current == nullptr ? 1 : current->size(); }

size_t NumShares(size_t count, size_t elements_of_each) {
  const size_t most = MostShares();
  if (most <= 1 || count <= 1) return 1;
  const size_t least = std::max<size_t>(least_elements / std::max<size_t>(elements_of_each, 1), 1);
  return std::clamp<size_t>(count / least, 1, most);
}

void ParallelFor(size_t count, size_t elements_of_each, absl::FunctionRef<void(const Share&)> visit) {
  if (count == 0) return;
  const size_t shares = NumShares(count, elements_of_each);
  if (shares == 1) return visit({.first = 0, .end = count, .index = 0});
  const Team& team = *current;
  FirstError error;
  // The calling thread, which measures how long it waits for the others, has the first share, and none is larger.
  const auto first_of = [&](size_t i) { return (count * i + shares - 1) / shares; };
  const auto work = [&](size_t i) {
    const TeamScope alone(nullptr);
    try {
      visit({.first = first_of(i), .end = first_of(i + 1), .index = i});
    } catch (...) {
      error.Keep(std::current_exception());
    }
  };
  team.Run(shares, count * elements_of_each, work);
  error.Rethrow();
}

void ShareSmallWork(bool shares) { least_elements = shares ? 1 : kLeastElements; }

}  // namespace amp
