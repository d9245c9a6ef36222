// A device with memory of its own: tensors there, copies, and the start of its kernels.
//
//   AMP_ASSIGN_OR_RETURN(const std::shared_ptr<Accelerator> device, OpenDevice({.ordinal = 0}));     runtime/device_run/open_device.h
//   AMP_ASSIGN_OR_RETURN(const Tensor x, device->CopyIn(on_host, nullptr));
//   device->Start(device::MapArguments{...});
//   AMP_ASSIGN_OR_RETURN(const Tensor y, device->CopyOut(on_device, nullptr));
//
// All happens in the order in which it is asked for. What fails after it was asked for is found out later: then Status,
// Finish and CopyOut give the first error from there on, of code kAborted, or kResourceExhausted where the device ran out
// of memory by itself. Where there is no memory for what is asked for, nothing has happened, and it can be asked for
// again. Any thread may use a device; it must outlive the tensors in its memory.
#ifndef AMP_RUNTIME_DEVICE_ACCELERATOR_H_
#define AMP_RUNTIME_DEVICE_ACCELERATOR_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "runtime/device/raw/device_table.h"
#include "runtime/device/staged_copies.h"
#include "runtime/kernel/element_mover.h"
#include "runtime/kernel/tensor.h"

namespace amp {

class Accelerator;
class Reduction;

// What a device wrote down, to do it again without being asked for each part; see Accelerator::StartRecording.
class Recording {
 public:
  ~Recording();
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

 private:
  friend class Accelerator;
  explicit Recording(Accelerator& device) : device_(device) {}

  Accelerator& device_;
  void* content_ = nullptr;
  std::vector<std::shared_ptr<const void>> lists_;  // that its kernels read
};

class Accelerator : public TensorMemory, private ElementMover {
 public:
  // `name`: "cuda:0". Closes the table in the end.
  Accelerator(std::string name, const device::DeviceTable& table)
      : name_(std::move(name)), table_(table), copies_(std::in_place, table_) {}
  ~Accelerator() override;
  Accelerator(const Accelerator&) = delete;
  Accelerator& operator=(const Accelerator&) = delete;

  const std::string& name() const { return name_; }
  int num_multiprocessors() const { return table_.num_multiprocessors; }

  std::shared_ptr<void> Allocate(size_t size_bytes) override;
  size_t alignment() const override { return device::kMemoryAlignment; }
  ElementMover* mover() override { return this; }
  // Whether the tensor's elements are in this device's memory.
  bool Has(const Tensor& tensor) const { return tensor.mover() == this; }

  // The same tensor in the other memory; `memory`: of the result, of that kind; null: the device's own / the heap.
  // REQUIRES: no strings; of CopyOut: Has(tensor).
  absl::StatusOr<Tensor> CopyIn(const Tensor& tensor, TensorMemory* memory);
  absl::StatusOr<Tensor> CopyOut(const Tensor& tensor, TensorMemory* memory);
  // The same of several, for which the processor waits once.
  absl::StatusOr<std::vector<Tensor>> CopyOutAll(absl::Span<const Tensor* const> tensors, TensorMemory* memory);
  // Into a tensor that is there. REQUIRES: of the same type, dims and layout; Has(to).
  absl::Status CopyInto(const Tensor& tensor, Tensor& to);

  // How large copies go; empty: there was none.
  std::string CopiesText() const { return copies_->Text(); }

  // From one place there to another. REQUIRES: of the same type and as many elements, of at most 8 bytes.
  void CopyWithin(const Tensor& from, Tensor& to);

  // `Arguments`: of a kernel in runtime/device/raw.
  template <typename Arguments>
  void Start(const Arguments& arguments) {
    Note(table_.kernels.launches[static_cast<size_t>(Arguments::kKernel)](table_.self, &arguments));
  }

  // Products of matrices; `text`: what computes them, for reports. What the device's library has no algorithm for is
  // computed by a kernel of our own, which a warning says. Errors: kAborted where the library is missing;
  // kResourceExhausted, no memory for it.
  absl::Status Multiply(const device::ProductArguments& product, std::string& text);
  // By the library alone. Errors: kUnimplemented, too, where it does not do it, and nothing has happened then.
  absl::Status MultiplyByLibrary(const device::ProductArguments& product, std::string& text);
  // The same of convolutions and attention, but kUnimplemented, too, where their library is missing: others compute them,
  // of attention with a warning.
  absl::Status Convolve(const device::LibraryConvolution& convolution, std::string& text);
  absl::Status Attend(const device::LibraryAttention& attention, std::string& text);

  // A convolution was computed by a kernel of our own, though the library is there for it; not of one whose channels are
  // groups of their own.
  void NoteDirectConvolution(DType dtype);
  // What whoever runs a model should know, and has not been told: a line each.
  std::vector<std::string> TakeWarnings();

  // ---- means over the ranks of a data-parallel run, each with a device of its own (raw/ranks.h)
  // All ranks call it with one device each; afterwards `ranks_text` names the library. Errors, the same on all ranks:
  // kUnimplemented, one of them has no such library, or it does not join them; what the reduction says.
  absl::Status JoinRanks(Reduction& reduction);
  bool HasRanks() const { return !ranks_text_.empty(); }
  const std::string& ranks_text() const { return ranks_text_; }
  // In place. REQUIRES: HasRanks; all ranks ask for the same in the same order.
  void StartFold(Tensor& values, device::Fold fold);
  // What is asked for from here on comes behind all folds.
  void AwaitFolds() { Note(table_.await_folds(table_.self)); }

  // From here on the device's libraries time what they are asked for first, and keep what was fastest there; null: as
  // before. REQUIRES: the choices live until others, or null, are used.
  void UseChoices(const device::Choices* choices) {
    if (table_.use_choices != nullptr) table_.use_choices(table_.self, choices);
  }

  // A list where kernels see it, for as long as the pointer lives. Lists of one content are one, and stay for a while.
  // Null where that failed, which Status tells: where there was no memory for it, once, in the same thread.
  std::shared_ptr<const void> Share(absl::Span<const std::byte> list);
  template <typename T>
  std::shared_ptr<const void> Share(const std::vector<T>& list) {
    return Share(absl::MakeConstSpan(reinterpret_cast<const std::byte*>(list.data()), list.size() * sizeof(T)));
  }

  // ---- recording: kernels, products and zeroes that are asked for in between are written down, not done
  bool CanRecord() const { return table_.start_recording != nullptr; }
  bool IsRecording() const { return is_recording_; }
  // Held by whoever records, shared by all others who run something on the device meanwhile.
  absl::Mutex& order() ABSL_LOCK_RETURNED(order_) { return order_; }
  // REQUIRES: CanRecord; order() is held until StopRecording.
  absl::Status StartRecording();
  // Errors: kCancelled where anything else was asked for: nothing of it all has happened.
  absl::StatusOr<std::unique_ptr<Recording>> StopRecording();
  // Ends a recording that nobody wants any more, without allocating memory. Does nothing if the device does not record.
  void DropRecording();
  // REQUIRES: a recording of this device; what it reads and writes is where it was then.
  absl::Status Replay(const Recording& recording);

  absl::Status Status();
  absl::Status Finish();  // waits for everything

 private:
  friend class Recording;

  void CopyBlocks(const Tensor& from, BlockPlaces source, Tensor& to, BlockPlaces target, size_t run,
                  size_t count) override;
  void CopyStrided(const Tensor& from, int64_t start, absl::Span<const int64_t> dims, absl::Span<const int64_t> strides,
                   Tensor& to) override;
  void CopyPicked(const Tensor& from, absl::Span<const std::vector<int64_t>> picks, const Tensor* fill,
                  Tensor& to) override;
  void CopyRuns(const Tensor& from, absl::Span<const size_t> firsts, size_t run, Tensor& to) override;
  void SetZero(Tensor& to) override;

  void Note(int error);
  void NoteShortOfMemory();
  // A warning, once for each `key`. Of what is recorded: when the recording is there.
  void Warn(const std::string& key, const std::string& text);
  void WarnOfRecorded(bool is_there);
  // kCancelled, with a warning.
  absl::Status WithoutRecording(int error);
  // What a library said, and with which error.
  absl::Status AfterLibrary(int error, const std::string& text);
  // For what a recording cannot have: tells the one under way, if there is one.
  void BreakRecording() { is_broken_ = true; }
  // In the recording under way, too.
  std::shared_ptr<const void> Kept(std::shared_ptr<const void> list) ABSL_EXCLUSIVE_LOCKS_REQUIRED(lists_mutex_);

  const std::string name_;
  std::string ranks_text_;  // empty: it has joined none
  const device::DeviceTable table_;
  std::optional<StagedCopies> copies_;  // until the table is closed
  std::atomic<int> first_error_ = 0;
  std::atomic<bool> is_short_of_memory_ = false;  // somebody is
  absl::Mutex short_mutex_;
  std::set<std::thread::id> short_of_memory_ ABSL_GUARDED_BY(short_mutex_);  // who has not been told yet
  absl::Mutex warning_mutex_;
  std::string of_convolution_
      ABSL_GUARDED_BY(warning_mutex_);  // what the library said of one that it did not take last
  std::vector<std::string> warnings_ ABSL_GUARDED_BY(warning_mutex_);
  std::set<std::string> warned_of_ ABSL_GUARDED_BY(warning_mutex_);  // keys
  std::vector<std::pair<std::string, std::string>> recorded_warnings_ ABSL_GUARDED_BY(warning_mutex_);
  absl::Mutex order_;
  std::atomic<bool> is_recording_ = false, is_broken_ = false;
  std::atomic<int> recording_error_ = 0;  // the first of the device while it records
  absl::Mutex lists_mutex_;
  absl::flat_hash_map<std::string, std::shared_ptr<const void>> lists_ ABSL_GUARDED_BY(lists_mutex_);  // by content
  size_t lists_bytes_ ABSL_GUARDED_BY(lists_mutex_) = 0;
  std::vector<std::shared_ptr<const void>> recorded_lists_ ABSL_GUARDED_BY(lists_mutex_);
};

}  // namespace amp

#endif  // AMP_RUNTIME_DEVICE_ACCELERATOR_H_
