// A stand-in for MPI within one process: ranks are threads, and what they send is copied from one to the other.
//
//   ThreadWorld world(2);
//   world.Run([](RankGroup& ranks) { ... });      in a thread for each rank
#ifndef AMP_TESTS_RUNTIME_PARALLEL_THREAD_TRANSPORT_H_
#define AMP_TESTS_RUNTIME_PARALLEL_THREAD_TRANSPORT_H_

#include <chrono>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "ir/base/check.h"
#include "runtime/parallel/exchange_rank_group.h"

namespace amp {

class ThreadWorld {
 public:
  explicit ThreadWorld(int size) : size_(size), signs_(Count(), false), is_silent_(Count(), false) {
    mail_.resize(Count(), std::vector<std::deque<std::vector<std::byte>>>(Count()));
  }

  // From now on nothing more is heard of the rank.
  void Silence(int rank) {
    const std::lock_guard lock(mutex_);
    is_silent_[Index(rank)] = true;
  }

  TransportOpener Opener(int rank) {
    return [this, rank] { return std::make_unique<ThreadTransport>(*this, rank); };
  }

  // Each rank takes leave of the others at the end, unless `body` gives false.
  void Run(const std::function<bool(RankGroup&)>& body, std::chrono::milliseconds most_silence = kUsualSilence) {
    std::vector<std::thread> threads;
    threads.reserve(Count());
    for (int rank = 0; rank < size_; ++rank) {
      threads.emplace_back([&, rank] {
        absl::StatusOr<std::unique_ptr<RankGroup>> ranks = MakeExchangeRankGroup(Opener(rank), most_silence);
        AMP_CHECK(ranks.ok());
        if (body(**ranks)) AMP_CHECK((*ranks)->Finish().ok());
      });
    }
    for (std::thread& thread : threads) thread.join();
  }

 private:
  static size_t Index(int rank) { return static_cast<size_t>(rank); }
  size_t Count() const { return Index(size_); }

  class ThreadTransport : public Transport {
   public:
    ThreadTransport(ThreadWorld& world, int rank) : world_(world), rank_(rank) {}

    int rank() const override { return rank_; }
    int size() const override { return world_.size_; }

    void StartExchange(const std::vector<Bytes>& to, const std::vector<Bytes>& from) override {
      const std::lock_guard lock(world_.mutex_);
      AMP_CHECK(to.size() == world_.Count() && from.size() == world_.Count());
      for (size_t other = 0; other < world_.Count(); ++other) {
        if (other == Index(rank_) || world_.is_silent_[Index(rank_)]) continue;
        if (to[other].size > 0) {
          world_.mail_[other][Index(rank_)].emplace_back(to[other].data, to[other].data + to[other].size);
        }
      }
      wanted_ = from;
      wanted_[Index(rank_)] = {};
    }

    Progress Test() override {
      const std::lock_guard lock(world_.mutex_);
      bool is_done = true;
      for (size_t other = 0; other < wanted_.size(); ++other) {
        Bytes& wanted = wanted_[other];
        auto& box = world_.mail_[Index(rank_)][other];
        if (wanted.size > 0 && !box.empty()) {
          AMP_CHECK(box.front().size() == wanted.size);
          std::memcpy(wanted.data, box.front().data(), wanted.size);
          box.pop_front();
          wanted = {};
        }
        is_done = is_done && wanted.size == 0;
      }
      return is_done ? Progress::kDone : Progress::kPending;
    }

    std::string Error() const override { return ""; }
    void SendSign() override {
      const std::lock_guard lock(world_.mutex_);
      if (!world_.is_silent_[Index(rank_)]) world_.signs_[Index((rank_ + 1) % world_.size_)] = true;
    }
    bool TakeSign() override {
      const std::lock_guard lock(world_.mutex_);
      const bool is_there = world_.signs_[Index(rank_)];
      world_.signs_[Index(rank_)] = false;
      return is_there;
    }
    void Finish() override {}
    [[noreturn]] void Abort(int exit_code) override { std::_Exit(exit_code); }

   private:
    ThreadWorld& world_;
    int rank_;
    std::vector<Bytes> wanted_;
  };

  std::mutex mutex_;
  int size_;
  std::vector<bool> signs_, is_silent_;
  std::vector<std::vector<std::deque<std::vector<std::byte>>>> mail_;  // [to][from]
};

}  // namespace amp

#endif  // AMP_TESTS_RUNTIME_PARALLEL_THREAD_TRANSPORT_H_
