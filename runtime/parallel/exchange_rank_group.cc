#include "runtime/parallel/exchange_rank_group.h"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <deque>
#include <new>
#include <string>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "ir/base/fenced.h"
#include "ir/base/status.h"
#include "runtime/parallel/exchanger.h"

namespace amp {
namespace {

using Bytes = Transport::Bytes;

constexpr int64_t kMostAtOnce = int64_t{1} << 20;  // elements of a mean, so that what others send takes little memory

size_t Index(int rank) { return static_cast<size_t>(rank); }

Bytes BytesOf(absl::Span<std::byte> bytes) { return {bytes.data(), bytes.size()}; }
Bytes BytesOf(absl::Span<float> floats) {
  return {reinterpret_cast<std::byte*>(floats.data()), floats.size() * sizeof(float)};
}

std::string SecondsText(std::chrono::milliseconds time) {
  return absl::StrCat(absl::ToDoubleSeconds(absl::FromChrono(time)), " s");
}

// Whether the condition holds before `most` has passed, not counting time for which this process itself stood still.
bool AwaitAtMost(absl::Mutex& mutex, const absl::Condition& condition, std::chrono::milliseconds most)
    ABSL_SHARED_LOCKS_REQUIRED(mutex) {
  constexpr int kSlices = 20;
  for (int slice = 0; slice < kSlices; ++slice) {
    if (mutex.AwaitWithTimeout(condition, absl::FromChrono(most) / kSlices)) return true;
  }
  return false;
}

class Operation {
 public:
  virtual ~Operation() = default;
  // In the thread of the exchanger.
  virtual absl::Status Run(Exchanger& exchanger) = 0;
  virtual bool NeedsAllRanks() const { return true; }
  virtual bool IsLast() const { return false; }

  absl::Status Wait() {
    const absl::MutexLock lock(&mutex_, absl::Condition(&is_done_));
    return status_;
  }
  void SetDone(absl::Status status) {
    const absl::MutexLock lock(&mutex_);
    status_ = std::move(status);
    is_done_ = true;
  }

  // As Wait, but once the operation is leaving the other ranks, for no longer than `most`: the transport waits for them
  // without an end. Errors: kUnavailable, that took longer.
  absl::Status WaitForLeave(std::chrono::milliseconds most) {
    const auto leaves_or_is_done = [this]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) { return is_leaving_ || is_done_; };
    const absl::MutexLock lock(&mutex_, absl::Condition(&leaves_or_is_done));
    if (AwaitAtMost(mutex_, absl::Condition(&is_done_), most)) return status_;
    return IoError("the ranks did not take leave of each other within ", SecondsText(most));
  }

 protected:
  void SetLeaving() {
    const absl::MutexLock lock(&mutex_);
    is_leaving_ = true;
  }

 private:
  absl::Mutex mutex_;
  bool is_leaving_ ABSL_GUARDED_BY(mutex_) = false;
  bool is_done_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
};

class MeanOperation : public Operation, public PendingMean {
 public:
  explicit MeanOperation(std::vector<float> values) : values_(std::move(values)) {}

  absl::StatusOr<absl::Span<const float>> Wait() override {
    AMP_RETURN_IF_ERROR(Operation::Wait());
    return absl::MakeConstSpan(values_);
  }

  absl::Status Run(Exchanger& exchanger) override {
    for (absl::Span<float> rest = absl::MakeSpan(values_); !rest.empty();) {
      const auto count = std::min(rest.size(), static_cast<size_t>(kMostAtOnce));
      AMP_RETURN_IF_ERROR(Average(exchanger, rest.first(count)));
      rest.remove_prefix(count);
    }
    return absl::OkStatus();
  }

 private:
  absl::Status Average(Exchanger& exchanger, absl::Span<float> values) {
    const size_t num_ranks = Index(exchanger.size());
    const size_t most = (values.size() + num_ranks - 1) / num_ranks;
    std::vector<Bytes> parts;
    const auto part = [&](size_t rank) { return values.subspan(std::min(values.size(), rank * most), most); };
    for (size_t rank = 0; rank < num_ranks; ++rank) parts.push_back(BytesOf(part(rank)));
    const absl::Span<float> own = part(Index(exchanger.rank()));
    received_.resize(own.size() * num_ranks);
    std::vector<Bytes> from;
    for (size_t rank = 0; rank < num_ranks; ++rank) from.push_back(BytesOf(Received(rank, own.size())));
    std::copy(own.begin(), own.end(), Received(Index(exchanger.rank()), own.size()).begin());
    AMP_RETURN_IF_ERROR(exchanger.Exchange(parts, from));
    AddUp(num_ranks, own);
    return exchanger.Exchange(std::vector<Bytes>(num_ranks, BytesOf(own)), parts);
  }

  absl::Span<float> Received(size_t rank, size_t count) {
    return absl::MakeSpan(received_).subspan(rank * count, count);
  }

  void AddUp(size_t num_ranks, absl::Span<float> sum) {
    const absl::Span<const float> first = Received(0, sum.size());
    std::copy(first.begin(), first.end(), sum.begin());
    for (size_t rank = 1; rank < num_ranks; ++rank) {
      const absl::Span<const float> values = Received(rank, sum.size());
      for (size_t i = 0; i < sum.size(); ++i) sum[i] += values[i];
    }
    const auto count = static_cast<float>(num_ranks);
    for (float& element : sum) element /= count;
  }

  std::vector<float> values_, received_;
};

// Every rank's bytes to every other; ranks may have different sizes, which they tell each other first.
class GatherOperation : public Operation {
 public:
  explicit GatherOperation(absl::Span<const std::byte> own) : own_(own.begin(), own.end()) {}
  std::vector<std::vector<std::byte>> TakeGathered() { return std::move(gathered_); }

  absl::Status Run(Exchanger& exchanger) override {
    const size_t num_ranks = Index(exchanger.size());
    sizes_.resize(num_ranks);
    own_size_ = own_.size();
    std::vector<Bytes> from;
    for (uint64_t& size : sizes_) from.push_back({reinterpret_cast<std::byte*>(&size), sizeof size});
    AMP_RETURN_IF_ERROR(exchanger.Exchange(
        std::vector<Bytes>(num_ranks, {reinterpret_cast<std::byte*>(&own_size_), sizeof own_size_}), from));
    from.clear();
    gathered_.resize(num_ranks);
    for (size_t rank = 0; rank < num_ranks; ++rank) {
      gathered_[rank].resize(sizes_[rank]);
      from.push_back(BytesOf(absl::MakeSpan(gathered_[rank])));
    }
    gathered_[Index(exchanger.rank())] = own_;
    return exchanger.Exchange(std::vector<Bytes>(num_ranks, BytesOf(absl::MakeSpan(own_))), from);
  }

 private:
  std::vector<std::byte> own_;
  uint64_t own_size_ = 0;
  std::vector<uint64_t> sizes_;
  std::vector<std::vector<std::byte>> gathered_;
};

class BroadcastOperation : public Operation {
 public:
  explicit BroadcastOperation(absl::Span<const std::byte> bytes) : bytes_(bytes.begin(), bytes.end()) {}
  absl::Span<const std::byte> bytes() const { return bytes_; }

  absl::Status Run(Exchanger& exchanger) override {
    const Bytes all = BytesOf(absl::MakeSpan(bytes_));
    std::vector<Bytes> to(Index(exchanger.size())), from = to;
    if (exchanger.rank() == 0) {
      std::fill(to.begin(), to.end(), all);
    } else {
      from[0] = all;
    }
    return exchanger.Exchange(to, from);
  }

 private:
  std::vector<std::byte> bytes_;
};

class FinishOperation : public GatherOperation {
 public:
  FinishOperation() : GatherOperation({}) {}
  absl::Status Run(Exchanger& exchanger) override {
    AMP_RETURN_IF_ERROR(GatherOperation::Run(exchanger));
    SetLeaving();
    exchanger.transport().Finish();
    return absl::OkStatus();
  }
  bool IsLast() const override { return true; }
};

class AbortOperation : public Operation {
 public:
  explicit AbortOperation(int exit_code) : exit_code_(exit_code) {}
  absl::Status Run(Exchanger& exchanger) override {
    exchanger.transport().Abort(exit_code_);
    return absl::OkStatus();  // not reached
  }
  bool NeedsAllRanks() const override { return false; }

 private:
  int exit_code_;
};

// Signals are for the threads that the program knows of.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;
  ~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

class ExchangeRankGroup : public RankGroup {
 public:
  ExchangeRankGroup(const TransportOpener& open, std::chrono::milliseconds most_silence) : most_silence_(most_silence) {
    const SignalsBlocked blocked;
    thread_ = std::thread([this, open] { Work(open); });
  }
  ExchangeRankGroup(const ExchangeRankGroup&) = delete;
  ExchangeRankGroup& operator=(const ExchangeRankGroup&) = delete;
  ~ExchangeRankGroup() override {
    {
      const absl::MutexLock lock(&mutex_);
      is_over_ = true;
    }
    thread_.join();
  }

  // Whether the transport is there, or is known not to be, within the time without a sign of life.
  bool OpensInTime() {
    const absl::MutexLock lock(&mutex_);
    is_over_ = !AwaitAtMost(mutex_, absl::Condition(&is_open_), most_silence_);
    return is_open_;
  }
  absl::Status failure() {
    const absl::MutexLock lock(&mutex_);
    return failure_;
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }

  std::shared_ptr<PendingMean> StartMean(std::vector<float> values) override {
    auto operation = std::make_shared<MeanOperation>(std::move(values));
    Start(operation);
    return operation;
  }

  absl::StatusOr<std::vector<std::vector<std::byte>>> Gather(absl::Span<const std::byte> own) override {
    const auto operation = std::make_shared<GatherOperation>(own);
    AMP_RETURN_IF_ERROR(StartAndWait(operation));
    return operation->TakeGathered();
  }

  absl::Status Broadcast(absl::Span<std::byte> bytes) override {
    const auto operation = std::make_shared<BroadcastOperation>(bytes);
    AMP_RETURN_IF_ERROR(StartAndWait(operation));
    std::copy(operation->bytes().begin(), operation->bytes().end(), bytes.begin());
    return absl::OkStatus();
  }

  absl::Status Finish() override {
    const auto operation = std::make_shared<FinishOperation>();
    Start(operation);
    return operation->WaitForLeave(most_silence_);
  }

  [[noreturn]] void Abort(int exit_code) override {
    constexpr std::chrono::seconds kLongEnough{5};  // the thread may never come to it
    Start(std::make_shared<AbortOperation>(exit_code));
    std::this_thread::sleep_for(kLongEnough);
    std::_Exit(exit_code);
  }

 private:
  void Start(std::shared_ptr<Operation> operation) {
    const absl::MutexLock lock(&mutex_);
    waiting_.push_back(std::move(operation));
  }

  absl::Status StartAndWait(const std::shared_ptr<Operation>& operation) {
    Start(operation);
    return operation->Wait();
  }

  // ---- in the thread

  void Work(const TransportOpener& open) {
    std::unique_ptr<Transport> transport = open();
    if (transport == nullptr) return SetOpen(DeviceError("MPI does not start"));
    Exchanger exchanger(std::move(transport), most_silence_);
    rank_ = exchanger.rank();
    size_ = exchanger.size();
    absl::Status status = exchanger.WatchRankBefore();
    SetOpen(status);
    for (bool is_over = false; !is_over;) {
      const std::shared_ptr<Operation> operation = Next(exchanger, status);
      if (operation == nullptr) return;
      if (status.ok() || !operation->NeedsAllRanks()) status = RunCaught(*operation, exchanger);
      if (!status.ok()) failed_.push_back(operation);  // what the transport may still write to
      operation->SetDone(status);
      is_over = operation->IsLast() && status.ok();
    }
  }

  static absl::Status RunCaught(Operation& operation, Exchanger& exchanger) {
    return Fenced("", [&] { return operation.Run(exchanger); });
  }

  // Waits for the next operation and watches the other ranks meanwhile. Returns null at the end.
  std::shared_ptr<Operation> Next(Exchanger& exchanger, absl::Status& status) {
    constexpr absl::Duration kPause = absl::Milliseconds(20);
    for (;;) {
      {
        const auto has_work = [this]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) { return is_over_ || !waiting_.empty(); };
        const absl::MutexLock lock(&mutex_);
        if (mutex_.AwaitWithTimeout(absl::Condition(&has_work), kPause)) {
          if (waiting_.empty()) return nullptr;
          std::shared_ptr<Operation> next = std::move(waiting_.front());
          waiting_.pop_front();
          return next;
        }
      }
      if (status.ok()) status = exchanger.Watch();
    }
  }

  void SetOpen(absl::Status failure) {
    const absl::MutexLock lock(&mutex_);
    failure_ = std::move(failure);
    is_open_ = true;
  }

  const std::chrono::milliseconds most_silence_;
  std::thread thread_;
  int rank_ = 0, size_ = 1;  // set before is_open_
  absl::Mutex mutex_;
  bool is_open_ ABSL_GUARDED_BY(mutex_) = false, is_over_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status failure_ ABSL_GUARDED_BY(mutex_);
  std::deque<std::shared_ptr<Operation>> waiting_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::shared_ptr<Operation>> failed_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<RankGroup>> MakeExchangeRankGroup(const TransportOpener& open,
                                                                 std::chrono::milliseconds most_silence) {
  return Fenced("", [&]() -> absl::StatusOr<std::unique_ptr<RankGroup>> {
    auto ranks = std::make_unique<ExchangeRankGroup>(open, most_silence);  // throws where there is no thread
    if (!ranks->OpensInTime()) {
      static_cast<void>(ranks.release());  // its thread is in the transport's start, which nothing ends
      return IoError("the ranks did not find each other within ", SecondsText(most_silence));
    }
    AMP_RETURN_IF_ERROR(ranks->failure());
    return std::unique_ptr<RankGroup>(std::move(ranks));
  });
}

}  // namespace amp
