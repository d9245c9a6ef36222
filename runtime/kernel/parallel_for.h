// Work that the threads of a run share.
//
//   ParallelFor(rows, row_size, [&](const Share& share) {
//     for (size_t row = share.first; row < share.end; ++row) ...
//   });
//
// The shares are independent: every index is visited once, its result does not depend on the others, and is the same,
// bit for bit, for any number of threads. A visitor has buffers of its own, or one for each share; memory of the run's
// arena is allocated before. Shares are not split any further.
#ifndef AMP_RUNTIME_KERNEL_PARALLEL_FOR_H_
#define AMP_RUNTIME_KERNEL_PARALLEL_FOR_H_

#include <cstddef>

#include "absl/functional/function_ref.h"

namespace amp {

// Threads that work together for the one that calls them.
class Team {
 public:
  virtual ~Team() = default;
  // How many the calling thread has, itself among them.
  virtual size_t size() const = 0;
  // Calls work(i) for each i in [0, count) and returns when all are done. `elements`: the cost of all, in elements. The
  // calling thread does all if that is faster. Rounding and the treatment of subnormal numbers are as in the calling
  // thread. REQUIRES: count ≤ size(); `work` does not throw.
  virtual void Run(size_t count, size_t elements, absl::FunctionRef<void(size_t)> work) const = 0;
};

// Gives the calling thread a team, as long as this lives; null: none, it works alone.
class TeamScope {
 public:
  explicit TeamScope(const Team* team);
  ~TeamScope();
  TeamScope(const TeamScope&) = delete;
  TeamScope& operator=(const TeamScope&) = delete;

 private:
  const Team* before_;
};

// Indices [first, end), and which of the shares it is.
struct Share {
  size_t first = 0, end = 0, index = 0;
};

// How many shares there are at most: 1 where the calling thread works alone.
size_t MostShares();
// Into how many ParallelFor cuts so many indices of so many elements each, or what costs as much.
size_t NumShares(size_t count, size_t elements_of_each);
// Visits [0, count) in shares of neighbours. What a share throws is thrown by the call, when all others are done.
void ParallelFor(size_t count, size_t elements_of_each, absl::FunctionRef<void(const Share&)> visit);

// For tests: whether small work is shared out too. Not while anything runs.
void ShareSmallWork(bool shares);

}  // namespace amp

#endif  // AMP_RUNTIME_KERNEL_PARALLEL_FOR_H_
