// Large copies between the processor's memory and a device's, by way of pinned memory.
//
//   from     [ part 0 | part 1 | part 2 ]
//   stages      0 -> |   1 -> |   0 -> |      the threads fill one while the device reads the other
//
// A driver copies from pageable memory with one thread, through memory of its own. Here the threads of the run do that
// part, and the transfer of one stage overlaps the copy to the other. The stages are pinned with the first large copy;
// where none can be pinned, copies are the driver's, which a line for --verbose says.
#ifndef AMP_RUNTIME_DEVICE_STAGED_COPIES_H_
#define AMP_RUNTIME_DEVICE_STAGED_COPIES_H_

#include <array>
#include <cstddef>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "runtime/device/raw/device_table.h"

namespace amp {

// Any thread may call.
class StagedCopies {
 public:
  // The table must be open as long as this lives.
  explicit StagedCopies(const device::DeviceTable& table) : table_(table) {}
  ~StagedCopies();
  StagedCopies(const StagedCopies&) = delete;
  StagedCopies& operator=(const StagedCopies&) = delete;

  // In the order in which the device is asked for all else. 0, or an error of the device. What is read may change
  // afterwards; what is written is there.
  int CopyIn(void* to, absl::Span<const std::byte> from);
  int CopyOut(absl::Span<const device::CopyOutArguments> copies);

  // How large copies go; empty: there was none.
  std::string Text() const;

 private:
  struct Stage {
    std::byte* memory = nullptr;
    bool is_busy = false;  // until it is awaited
  };

  // Large enough, and there are stages. Other copies are left to the device, which takes several at once.
  bool IsStaged(size_t size_bytes) ABSL_LOCKS_EXCLUDED(mutex_);
  bool Pin() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Unpin() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  int CopyOutStaged(const device::CopyOutArguments& copy) ABSL_LOCKS_EXCLUDED(mutex_);
  // 0, and nothing of what it was used for is under way any more; or an error.
  int Await(int slot) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const device::DeviceTable& table_;
  mutable absl::Mutex mutex_;
  std::array<Stage, device::kNumStages> stages_ ABSL_GUARDED_BY(mutex_);
  int next_ ABSL_GUARDED_BY(mutex_) = 0;
  bool was_tried_ ABSL_GUARDED_BY(mutex_) = false;
  std::string why_not_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace amp

#endif  // AMP_RUNTIME_DEVICE_STAGED_COPIES_H_
