// Work that threads share: every index once, in shares that teams run in any order, with errors that come back.
#include "runtime/kernel/parallel_for.h"

#include <algorithm>
#include <cstdint>
#include <new>
#include <numeric>
#include <thread>
#include <vector>

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

#include "runtime/onednn/open_library.h"
#include "tests/catch2.h"

namespace amp {
namespace {

// One share after the other, the last one first.
class BackwardTeam : public Team {
 public:
  explicit BackwardTeam(size_t size) : size_(size) {}
  size_t size() const override { return size_; }
  void Run(size_t count, size_t, absl::FunctionRef<void(size_t)> work) const override {
    while (count > 0) work(--count);
  }

 private:
  size_t size_;
};

class ThreadTeam : public Team {
 public:
  explicit ThreadTeam(size_t size) : size_(size) {}
  size_t size() const override { return size_; }
  void Run(size_t count, size_t, absl::FunctionRef<void(size_t)> work) const override {
    std::vector<std::thread> threads;
    for (size_t i = 1; i < count; ++i) threads.emplace_back([&, i] { work(i); });
    work(0);
    for (std::thread& thread : threads) thread.join();
  }

 private:
  size_t size_;
};

// How often each index was visited, and the largest number of a share.
struct Visits {
  std::vector<int> times;
  size_t shares = 0;
};
Visits VisitAll(size_t count, size_t elements_of_each) {
  Visits visits{std::vector<int>(count, 0)};
  std::vector<size_t> used(MostShares(), 0);
  ParallelFor(count, elements_of_each, [&](const Share& share) {
    for (size_t i = share.first; i < share.end; ++i) ++visits.times[i];
    ++used[share.index];
  });
  visits.shares = static_cast<size_t>(std::count(used.begin(), used.end(), 1));
  CHECK(std::count_if(used.begin(), used.end(), [](size_t times) { return times > 1; }) == 0);
  return visits;
}

bool IsEachOnce(const Visits& visits) {
  return std::all_of(visits.times.begin(), visits.times.end(), [](int times) { return times == 1; });
}

TEST_CASE("every index is visited once, whatever the team") {
  constexpr size_t kLarge = 1 << 20;
  const BackwardTeam one(1), three(3), many(70);
  const ThreadTeam threads(4);
  for (const Team* team :
       {static_cast<const Team*>(nullptr), static_cast<const Team*>(&one), static_cast<const Team*>(&three),
        static_cast<const Team*>(&many), static_cast<const Team*>(&threads)}) {
    const TeamScope scope(team);
    CHECK(MostShares() == (team == nullptr ? 1 : team->size()));
    for (const size_t count : {0u, 1u, 2u, 3u, 69u, 70u, 71u, 1000u}) {
      const Visits visits = VisitAll(count, kLarge);
      CHECK(IsEachOnce(visits));
      CHECK(visits.shares == (count == 0 ? 0 : std::min(count, MostShares())));
      CHECK(NumShares(count, kLarge) == std::max<size_t>(visits.shares, 1));
    }
  }
}

TEST_CASE("no share is larger than the first, which is the calling thread's") {
  const BackwardTeam team(3);
  const TeamScope scope(&team);
  for (const size_t count : {3u, 4u, 5u, 7u, 100u}) {
    std::vector<size_t> sizes(3, 0);
    ParallelFor(count, 1 << 20, [&](const Share& share) { sizes[share.index] = share.end - share.first; });
    CHECK(sizes[0] == (count + 2) / 3);
    CHECK(*std::max_element(sizes.begin(), sizes.end()) == sizes[0]);
  }
}

TEST_CASE("small work stays in one thread, unless a test says otherwise") {
  const BackwardTeam team(4);
  const TeamScope scope(&team);
  CHECK(VisitAll(1000, 1).shares == 1);
  CHECK(VisitAll(1000, 0).shares == 1);
  CHECK(VisitAll(1 << 15, 1).shares == 2);
  CHECK(VisitAll(1 << 10, 1 << 10).shares == 4);
  ShareSmallWork(true);
  CHECK(VisitAll(1000, 1).shares == 4);
  CHECK(VisitAll(2, 1).shares == 2);
  ShareSmallWork(false);
  CHECK(VisitAll(1000, 1).shares == 1);
}

TEST_CASE("teams come and go by scope; shares have none") {
  CHECK(MostShares() == 1);
  const BackwardTeam outer(2), inner(5);
  const TeamScope scope(&outer);
  {
    const TeamScope within(&inner);
    CHECK(MostShares() == 5);
    const TeamScope none(nullptr);
    CHECK(MostShares() == 1);
  }
  CHECK(MostShares() == 2);
  size_t within_share = 0;
  ParallelFor(2, 1 << 20, [&](const Share&) { within_share = std::max(within_share, MostShares()); });
  CHECK(within_share == 1);
  CHECK(MostShares() == 2);
}

TEST_CASE("what a share throws comes back when all others are done") {
  const ThreadTeam team(4);
  const TeamScope scope(&team);
  std::vector<int> done(4, 0);
  const auto run = [&] {
    ParallelFor(4, 1 << 20, [&](const Share& share) {
      if (share.index % 2 == 1) throw std::bad_alloc();
      done[share.index] = 1;
    });
  };
  CHECK_THROWS_AS(run(), std::bad_alloc);
  CHECK(done == std::vector<int>{1, 0, 1, 0});
  CHECK(IsEachOnce(VisitAll(100, 1 << 20)));
}

TEST_CASE("the library's team: as many threads as it is told, rounding as the caller does") {
  const onednn::Library* const library = onednn::OpenLibrary().library;
  if (library == nullptr) return;  // no oneDNN for this processor
  for (const int threads : {1, 2, 5}) {
    library->SetThreads(threads);
    const TeamScope scope(library);
    CHECK(MostShares() == static_cast<size_t>(threads));
    CHECK(VisitAll(100, 1 << 20).shares == static_cast<size_t>(threads));
  }
#if defined(__SSE__)
  const TeamScope scope(library);
  const unsigned saved = _mm_getcsr(), odd = saved | 0x8040u | 0x6000u;  // FTZ, DAZ, towards zero
  const auto modes = [&] {
    std::vector<unsigned> found(5);
    ParallelFor(5, 1 << 20, [&](const Share& share) { found[share.index] = _mm_getcsr() & ~0x3fu; });
    return found;
  };
  _mm_setcsr(odd);
  const std::vector<unsigned> of_odd = modes();
  _mm_setcsr(saved);
  CHECK(of_odd == std::vector<unsigned>(5, odd & ~0x3fu));
  CHECK(modes() == std::vector<unsigned>(5, saved & ~0x3fu));
#endif
}

}  // namespace
}  // namespace amp
