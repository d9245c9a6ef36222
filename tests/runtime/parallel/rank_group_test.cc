// Reductions over ranks that are threads of this process: what is computed, in which order, and how one is lost.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <csignal>
#include <numeric>

#include "runtime/parallel/exchange_rank_group.h"
#include "runtime/parallel/means_over_ranks.h"
#include "runtime/parallel/process_watch.h"
#include "tests/catch2.h"
#include "tests/runtime/parallel/thread_transport.h"

namespace amp {
namespace {

using Catch::Matchers::Contains;
using std::chrono::milliseconds;

// Sums of these differ by their order.
std::vector<float> ValuesOf(int rank, size_t count) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) {
    values[i] = static_cast<float>(std::sin(static_cast<double>(i) * 1.3 + rank) * std::pow(10.0, rank * 3));
  }
  return values;
}

std::vector<float> MeanInOrder(int num_ranks, size_t count) {
  std::vector<float> sum = ValuesOf(0, count);
  for (int rank = 1; rank < num_ranks; ++rank) {
    const std::vector<float> values = ValuesOf(rank, count);
    for (size_t i = 0; i < count; ++i) sum[i] += values[i];
  }
  for (float& element : sum) element /= static_cast<float>(num_ranks);
  return sum;
}

TEST_CASE("a mean is the sum in the order of ranks over their number, bit for bit, on every rank") {
  for (const int num_ranks : {1, 2, 3, 5}) {
    for (const size_t count : {size_t{0}, size_t{1}, size_t{4}, size_t{1001}, (size_t{1} << 21) + 7}) {
      const std::vector<float> expected = MeanInOrder(num_ranks, count);
      std::atomic<int> num_equal = 0;
      ThreadWorld(num_ranks).Run([&](RankGroup& ranks) {
        const auto mean = ranks.StartMean(ValuesOf(ranks.rank(), count));
        const auto found = mean->Wait();
        num_equal += found.ok() && std::vector<float>(found->begin(), found->end()) == expected ? 1 : 0;
        return true;
      });
      INFO(num_ranks << " ranks, " << count << " elements");
      CHECK(num_equal == num_ranks);
    }
  }
}

TEST_CASE("an infinity of one rank is in the mean of all, and infinities of both signs are NaN") {
  std::atomic<int> num_right = 0;
  ThreadWorld(2).Run([&](RankGroup& ranks) {
    const float own = ranks.rank() == 0 ? 1 : HUGE_VALF;
    const auto mean = ranks.StartMean({own, ranks.rank() == 0 ? -HUGE_VALF : HUGE_VALF});
    const auto found = mean->Wait();
    num_right += found.ok() && std::isinf((*found)[0]) && std::isnan((*found)[1]) ? 1 : 0;
    return true;
  });
  CHECK(num_right == 2);
}

TEST_CASE("what is gathered comes in the order of ranks, of any size; a broadcast is rank 0's") {
  std::atomic<int> num_right = 0;
  ThreadWorld(3).Run([&](RankGroup& ranks) {
    const std::vector<std::byte> own(static_cast<size_t>(ranks.rank()) * 5, std::byte(ranks.rank()));
    const auto all = ranks.Gather(own);
    bool is_right = all.ok() && all->size() == 3;
    for (size_t rank = 0; is_right && rank < 3; ++rank) {
      is_right = (*all)[rank] == std::vector<std::byte>(rank * 5, std::byte(rank));
    }
    std::vector<std::byte> bytes(7, std::byte(10 + ranks.rank()));
    is_right = is_right && ranks.Broadcast(absl::MakeSpan(bytes)).ok();
    num_right += is_right && bytes == std::vector<std::byte>(7, std::byte(10)) ? 1 : 0;
    return true;
  });
  CHECK(num_right == 3);
}

TEST_CASE("several means are under way at once, and are waited for in any order") {
  std::atomic<int> num_right = 0;
  ThreadWorld(2).Run([&](RankGroup& ranks) {
    std::vector<std::shared_ptr<PendingMean>> means;
    for (size_t count = 1; count < 20; ++count) means.push_back(ranks.StartMean(ValuesOf(ranks.rank(), count)));
    bool is_right = true;
    for (size_t count = 19; count > 0; --count) {
      const auto found = means[count - 1]->Wait();
      is_right = is_right && found.ok() && std::vector<float>(found->begin(), found->end()) == MeanInOrder(2, count);
    }
    num_right += is_right ? 1 : 0;
    return true;
  });
  CHECK(num_right == 2);
}

TEST_CASE("a rank of which nothing is heard any more is lost: what waits for it fails, and all that comes after") {
  ThreadWorld world(3);
  std::atomic<int> num_failed = 0;
  std::string message;
  const auto start = std::chrono::steady_clock::now();
  world.Run(
      [&](RankGroup& ranks) {
        if (ranks.rank() == 1) {
          world.Silence(1);
          std::this_thread::sleep_for(milliseconds(1500));
          return false;
        }
        const absl::Status first = ranks.StartMean({1, 2, 3})->Wait().status();
        if (ranks.rank() == 2) {  // the one behind it
          message = std::string(first.message());
          num_failed += absl::IsUnavailable(first) ? 1 : 0;
          num_failed += absl::IsUnavailable(ranks.Gather({}).status()) ? 1 : 0;
          world.Silence(2);
        } else {
          num_failed += absl::IsUnavailable(first) ? 1 : 0;
        }
        return false;
      },
      milliseconds(300));
  CHECK(num_failed == 3);
  CHECK_THAT(message, Contains("rank 1 of 3 gave no sign of life"));
  CHECK(std::chrono::steady_clock::now() - start < milliseconds(10'000));
}

TEST_CASE("a rank that computes for long is not lost") {
  std::atomic<int> num_right = 0;
  ThreadWorld(2).Run(
      [&](RankGroup& ranks) {
        if (ranks.rank() == 1) std::this_thread::sleep_for(milliseconds(1500));
        num_right += ranks.Gather({}).ok() ? 1 : 0;
        return true;
      },
      milliseconds(300));
  CHECK(num_right == 2);
}

TEST_CASE("a transport that does not start is no rank group") {
  const auto ranks = MakeExchangeRankGroup([] { return nullptr; });
  CHECK(absl::IsUnimplemented(ranks.status()));
}

// Time enough for a test that waits for a thread of its own.
class Gate {
 public:
  void Open() { is_open_ = true; }
  void Wait() const {
    while (!is_open_) std::this_thread::sleep_for(milliseconds(5));
  }

 private:
  std::atomic<bool> is_open_ = false;
};

TEST_CASE("a transport that does not come to its start is given up") {
  static Gate gate;  // the thread outlives the test
  const auto start = std::chrono::steady_clock::now();
  const auto open = [] {
    gate.Wait();
    return std::unique_ptr<Transport>();
  };
  const auto ranks = MakeExchangeRankGroup(open, milliseconds(300));
  CHECK(absl::IsUnavailable(ranks.status()));
  CHECK_THAT(std::string(ranks.status().message()), Contains("the ranks did not find each other within 0.3 s"));
  CHECK(std::chrono::steady_clock::now() - start < milliseconds(5000));
  gate.Open();
  // The near miss: one that takes long, but less.
  const auto late = MakeExchangeRankGroup(
      [] {
        std::this_thread::sleep_for(milliseconds(300));
        return std::unique_ptr<Transport>();
      },
      milliseconds(3000));
  CHECK(absl::IsUnimplemented(late.status()));
}

// Alone, and does not come to the end of its leave until it is let.
class StuckTransport : public Transport {
 public:
  explicit StuckTransport(Gate& gate) : gate_(gate) {}
  int rank() const override { return 0; }
  int size() const override { return 1; }
  void StartExchange(const std::vector<Bytes>&, const std::vector<Bytes>&) override {}
  Progress Test() override { return Progress::kDone; }
  std::string Error() const override { return ""; }
  void SendSign() override {}
  bool TakeSign() override { return true; }
  void Finish() override { gate_.Wait(); }
  [[noreturn]] void Abort(int exit_code) override { std::_Exit(exit_code); }

 private:
  Gate& gate_;
};

TEST_CASE("a leave that another rank does not take is given up") {
  Gate gate;
  const auto ranks = MakeExchangeRankGroup([&] { return std::make_unique<StuckTransport>(gate); }, milliseconds(300));
  REQUIRE(ranks.ok());
  const absl::Status status = (*ranks)->Finish();
  CHECK(absl::IsUnavailable(status));
  CHECK_THAT(std::string(status.message()), Contains("did not take leave of each other within 0.3 s"));
  gate.Open();
}

TEST_CASE("the end of another process is seen before anybody waits for it") {
  const pid_t child = ::fork();
  if (child == 0) {
    ::pause();
    ::_exit(0);
  }
  ProcessIdentity identity = OwnIdentity();
  identity.process = child;
  const ProcessWatch watch(identity);
  REQUIRE(watch.IsOfOne());
  CHECK_FALSE(watch.HasEnded());
  ::kill(child, SIGKILL);
  for (int i = 0; i < 500 && !watch.HasEnded(); ++i) std::this_thread::sleep_for(milliseconds(10));
  CHECK(watch.HasEnded());
  ::waitpid(child, nullptr, 0);
}

TEST_CASE("a process of another machine or namespace is not watched") {
  ProcessIdentity identity = OwnIdentity();
  identity.boot[0] = identity.boot[0] == 'x' ? 'y' : 'x';
  CHECK_FALSE(ProcessWatch(identity).IsOfOne());
  identity = OwnIdentity();
  ++identity.numbering;
  CHECK_FALSE(ProcessWatch(identity).IsOfOne());
}

// ---- buckets

// One rank, whose means are what it gave; counts what is sent.
class CountingRankGroup : public RankGroup {
 public:
  std::vector<size_t> sizes;

  int rank() const override { return 0; }
  int size() const override { return 1; }
  std::shared_ptr<PendingMean> StartMean(std::vector<float> values) override {
    sizes.push_back(values.size());
    return std::make_shared<Mean>(std::move(values));
  }
  absl::StatusOr<std::vector<std::vector<std::byte>>> Gather(absl::Span<const std::byte>) override {
    return absl::UnimplementedError("");
  }
  absl::Status Broadcast(absl::Span<std::byte>) override { return absl::UnimplementedError(""); }
  absl::Status Finish() override { return absl::OkStatus(); }
  [[noreturn]] void Abort(int exit_code) override { std::_Exit(exit_code); }

 private:
  struct Mean : PendingMean {
    explicit Mean(std::vector<float> given) : values(std::move(given)) {}
    absl::StatusOr<absl::Span<const float>> Wait() override { return absl::MakeConstSpan(values); }
    std::vector<float> values;
  };
};

TEST_CASE("small tensors share buckets, which are sent when full, the last one when somebody waits") {
  CountingRankGroup ranks;
  MeansOverRanks means(ranks, /*bucket=*/4);
  const auto start = [&](int64_t key, size_t count) {
    means.Start(key, std::vector<float>(count, static_cast<float>(key)));
  };
  start(1, 3);
  CHECK(ranks.sizes.empty());
  start(2, 2);  // full
  start(3, 9);  // alone
  start(4, 0);
  start(5, 1);
  CHECK(ranks.sizes == std::vector<size_t>{5, 9});
  const std::pair<int64_t, size_t> tensors[] = {{5, 1}, {1, 3}, {4, 0}, {2, 2}, {3, 9}};
  for (const auto& [key, count] : tensors) {
    std::vector<float> mean(count);
    REQUIRE(means.Take(key, absl::MakeSpan(mean)).ok());
    CHECK(mean == std::vector<float>(count, static_cast<float>(key)));
  }
  CHECK(ranks.sizes == std::vector<size_t>{5, 9, 1});
  CHECK(absl::IsDataLoss(means.Take(6, {})));
}

}  // namespace
}  // namespace amp
