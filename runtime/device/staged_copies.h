// Copies large data between the processor's memory and a device's, through pinned memory.
//
//   from     [ part 0 | part 1 | part 2 ]
//   stages      0 -> |   1 -> |   0 -> |      the threads fill one while the device reads the other
//
// A driver copies from pageable memory with one thread, through memory of its own. Here the run's threads do that part,
// and the transfer of one stage overlaps the copy to the other. The stages are pinned at the first large copy. If they
// cannot be, the driver copies, which --verbose reports in a line.
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

// Any thread may call this.
class StagedCopies {
 public:
  // The table must stay open during this object's lifetime.
  explicit StagedCopies(const device::DeviceTable& table) : table_(table) {}
  ~StagedCopies();
  StagedCopies(const StagedCopies&) = delete;
  StagedCopies& operator=(const StagedCopies&) = delete;

  // Copy in the order of the device's other work. Return 0, or an error of the device. When they return, the source may
  // change, and the destination of CopyOut is complete.
  int CopyIn(void* to, absl::Span<const std::byte> from);
  int CopyOut(absl::Span<const device::CopyOutArguments> copies);

  // Says whether large copies go through pinned memory; empty if there were none.
  std::string Text() const;

 private:
  struct Stage {
    std::byte* memory = nullptr;
    bool is_busy = false;  // until Await
  };

  // Whether a copy is large enough and there are stages. Other copies are left to the device, which takes several at
  // once.
  bool IsStaged(size_t size_bytes) ABSL_LOCKS_EXCLUDED(mutex_);
  bool Pin() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Unpin() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  int CopyOutStaged(const device::CopyOutArguments& copy) ABSL_LOCKS_EXCLUDED(mutex_);
  // Waits until the stage's work is done. Returns 0, or an error.
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
