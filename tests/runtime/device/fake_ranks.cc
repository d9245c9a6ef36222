#include "tests/runtime/device/fake_ranks.h"

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>
#include <vector>

namespace amp {

class DoubleWorld {
 public:
  explicit DoubleWorld(int size) : given_(static_cast<size_t>(size)) {}

  void Fold(int rank, const device::AllReduceArguments& fold) {
    given_[static_cast<size_t>(rank)] = fold;
    Wait();
    const std::vector<uint8_t> folded =
        fold.operation == device::AllReduce::kMean ? Mean(fold.count) : Least(fold.count);
    Wait();  // until all have read
    std::memcpy(fold.values, folded.data(), folded.size());
  }

 private:
  std::vector<uint8_t> Mean(size_t count) const {
    std::vector<float> sum(count, 0.0F);
    for (const device::AllReduceArguments& each : given_) {
      for (size_t i = 0; i < count; ++i) sum[i] += static_cast<const float*>(each.values)[i];
    }
    for (float& value : sum) value /= static_cast<float>(given_.size());
    std::vector<uint8_t> bytes(count * sizeof(float));
    std::memcpy(bytes.data(), sum.data(), bytes.size());
    return bytes;
  }
  std::vector<uint8_t> Least(size_t count) const {
    std::vector<uint8_t> least(count, 255);
    for (const device::AllReduceArguments& each : given_) {
      for (size_t i = 0; i < count; ++i) least[i] = std::min(least[i], static_cast<const uint8_t*>(each.values)[i]);
    }
    return least;
  }

  void Wait() {
    std::unique_lock lock(mutex_);
    const uint64_t round = round_;
    if (++num_waiting_ == given_.size()) {
      num_waiting_ = 0;
      ++round_;
      all_are_here_.notify_all();
    } else {
      all_are_here_.wait(lock, [&] { return round_ != round; });
    }
  }

  std::mutex mutex_;
  std::condition_variable all_are_here_;
  std::vector<device::AllReduceArguments> given_;
  size_t num_waiting_ = 0;
  uint64_t round_ = 0;
};

void MakeWorldId(char* id) {
  static std::mutex mutex;
  static uint64_t last = 0;
  const std::lock_guard lock(mutex);
  ++last;
  std::memset(id, 0, device::kRanksIdBytes);
  std::memcpy(id, &last, sizeof last);
}

std::shared_ptr<DoubleWorld> FindWorld(const char* id, int size) {
  static std::mutex mutex;
  static auto& worlds = *new std::map<std::vector<char>, std::weak_ptr<DoubleWorld>>();
  const std::lock_guard lock(mutex);
  std::weak_ptr<DoubleWorld>& known = worlds[{id, id + device::kRanksIdBytes}];
  std::shared_ptr<DoubleWorld> world = known.lock();
  if (world == nullptr) known = world = std::make_shared<DoubleWorld>(size);
  return world;
}

void FoldInWorld(DoubleWorld& world, int rank, const device::AllReduceArguments& fold) { world.Fold(rank, fold); }

}  // namespace amp
