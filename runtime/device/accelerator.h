// A device with memory of its own: tensors in that memory, copies, and starting its kernels.
//
//   AMP_ASSIGN_OR_RETURN(const std::shared_ptr<Accelerator> device, OpenCudaDevice(0));      device_run/open_device.h
//   AMP_ASSIGN_OR_RETURN(const Tensor x, device->CopyIn(on_host, nullptr));
//   device->Start(device::MapArguments{...});
//   AMP_ASSIGN_OR_RETURN(const Tensor y, device->CopyOut(on_device, nullptr));
//
// All work is done in the order of the calls. Work that fails after its call is noticed later: Status, Finish and
// CopyOut return the first such error from then on, with code kAborted, or kResourceExhausted if the device itself ran
// out of memory. A call for which there is no memory has no effect, and can be repeated. Any thread may use a device.
// The device must outlive the tensors in its memory.
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
class RankGroup;

// Captured work, which the device can replay as a whole; see Accelerator::StartRecording.
class CapturedGraph {
 public:
  ~CapturedGraph();
  CapturedGraph(const CapturedGraph&) = delete;
  CapturedGraph& operator=(const CapturedGraph&) = delete;

 private:
  friend class Accelerator;
  explicit CapturedGraph(Accelerator& device) : device_(device) {}

  Accelerator& device_;
  void* content_ = nullptr;
  std::vector<std::shared_ptr<const void>> lists_;  // lists that its kernels read
};

class Accelerator : public TensorMemory, private ElementMover {
 public:
  // `name`: "cuda:0". The destructor closes the table.
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
  // Whether the tensor's elements lie in this device's memory.
  bool Has(const Tensor& tensor) const { return tensor.mover() == this; }

  // Copy the tensor to the other memory. `memory`: where the result is allocated; null: from the device itself, or on
  // the heap. REQUIRES: no strings; Has(tensor) for CopyOut.
  absl::StatusOr<Tensor> CopyIn(const Tensor& tensor, TensorMemory* memory);
  absl::StatusOr<Tensor> CopyOut(const Tensor& tensor, TensorMemory* memory);
  // Copies several tensors out, waiting for the device once.
  absl::StatusOr<std::vector<Tensor>> CopyOutAll(absl::Span<const Tensor* const> tensors, TensorMemory* memory);
  // Copies into an existing tensor. REQUIRES: the same type, dims and layout; Has(to).
  absl::Status CopyInto(const Tensor& tensor, Tensor& to);

  // Says whether large copies go through pinned memory; empty if there were none.
  std::string CopiesText() const { return copies_->Text(); }

  // Copies within the device's memory. REQUIRES: one type of at most 8 bytes per element, as many elements in both.
  void CopyWithin(const Tensor& from, Tensor& to);

  // Starts a kernel. `Arguments`: the struct of a kernel in runtime/device/raw.
  template <typename Arguments>
  void Start(const Arguments& arguments) {
    Note(table_.kernels.launches[static_cast<size_t>(Arguments::kKernel)](table_.self, &arguments));
  }

  // Computes matrix products. `text`: set to what computes them, for reports. If the device's library has no algorithm,
  // a kernel of this project computes the product, with a warning. Errors: kAborted if the library is missing;
  // kResourceExhausted if there is no memory for it.
  absl::Status Multiply(const device::ProductArguments& product, std::string& text);
  // Uses only the library. Error, besides the above: a refusal if the library cannot compute it; nothing has
  // happened.
  absl::Status MultiplyByLibrary(const device::ProductArguments& product, std::string& text);
  // Compute convolutions and attention with a library. Errors: as above, and a refusal if the library is missing
  // too, so that other kernels compute them; for attention there is a warning.
  absl::Status Convolve(const device::LibraryConvolution& convolution, std::string& text);
  absl::Status Attend(const device::LibraryAttention& attention, std::string& text);

  // Warns that a kernel of this project computed a convolution although the library is there. Must not be called for
  // depthwise convolutions, which have a kernel of their own.
  void NoteDirectConvolution(DType dtype);
  // Returns warnings for the user, one line each, that have not been returned before.
  std::vector<std::string> TakeWarnings();

  // ---- means over the ranks of a data-parallel run, each with a device of its own (raw/ranks.h)
  // Joins the devices of all ranks; every rank must call it, with one device each. Afterwards `ranks_text` names the
  // library. Errors, the same on all ranks: kUnimplemented if a rank lacks the library or the library cannot join them;
  // errors of the ranks.
  absl::Status JoinRanks(RankGroup& ranks);
  bool HasRanks() const { return !ranks_text_.empty(); }
  const std::string& ranks_text() const { return ranks_text_; }
  // Starts an all-reduce of `values`, in place. REQUIRES: HasRanks; all ranks start the same all-reduces in the same
  // order.
  void StartAllReduce(Tensor& values, device::AllReduce operation);
  // Makes all work started from now on come after the all-reduces.
  void AwaitAllReduces() { Note(table_.await_all_reduces(table_.self)); }

  // From now on, the device's libraries time several ways to compute each operation and keep the fastest in `choices`;
  // null: they choose by heuristics. REQUIRES: the choices live until others, or null, are set.
  void UseChoices(const device::Choices* choices) {
    if (table_.use_choices != nullptr) table_.use_choices(table_.self, choices);
  }

  // Returns a copy of the list in the device's memory, which lives at least as long as the pointer. Lists with equal
  // content share one copy, which is kept for a while. Returns null on failure, which Status reports; a lack of memory
  // is reported once, to the calling thread.
  std::shared_ptr<const void> Share(absl::Span<const std::byte> list);
  template <typename T>
  std::shared_ptr<const void> Share(const std::vector<T>& list) {
    return Share(absl::MakeConstSpan(reinterpret_cast<const std::byte*>(list.data()), list.size() * sizeof(T)));
  }

  // ---- recording: kernels, products and fills started between StartRecording and StopRecording are captured, not run
  bool CanRecord() const { return table_.start_recording != nullptr; }
  bool IsRecording() const { return is_recording_; }
  // Held exclusively by a run that records; other runs that use the device meanwhile hold it shared.
  absl::Mutex& order() ABSL_LOCK_RETURNED(order_) { return order_; }
  // REQUIRES: CanRecord; the caller holds order() until StopRecording.
  absl::Status StartRecording();
  // Error: kCancelled if anything else was called meanwhile. Then none of the captured work has been done.
  absl::StatusOr<std::unique_ptr<CapturedGraph>> StopRecording();
  // Ends a recording that is not needed any more, without allocating memory. Does nothing if the device does not
  // record.
  void DropRecording();
  // REQUIRES: a recording of this device; the memory that it reads and writes is at the same addresses.
  absl::Status Replay(const CapturedGraph& recording);

  absl::Status Status();
  absl::Status Finish();  // waits for everything

 private:
  friend class CapturedGraph;

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
  // Adds a warning, once for each `key`. While the device records, the warning is added when the recording succeeds.
  void Warn(const std::string& key, const std::string& text);
  void WarnOfRecorded(bool is_there);
  // Returns kCancelled, and adds a warning.
  absl::Status WithoutRecording(int error);
  // Converts a library's error and its text into a status.
  absl::Status AfterLibrary(int error, const std::string& text);
  // Marks the current recording, if there is one, as broken by work that cannot be captured.
  void BreakRecording() { is_broken_ = true; }
  // Keeps the list alive with the current recording, too.
  std::shared_ptr<const void> Kept(std::shared_ptr<const void> list) ABSL_EXCLUSIVE_LOCKS_REQUIRED(lists_mutex_);

  const std::string name_;
  std::string ranks_text_;  // empty: no ranks have been joined
  const device::DeviceTable table_;
  std::optional<StagedCopies> copies_;  // reset before the table is closed
  std::atomic<int> first_error_ = 0;
  std::atomic<bool> is_short_of_memory_ = false;  // some thread has not been told yet
  absl::Mutex short_mutex_;
  std::set<std::thread::id> short_of_memory_ ABSL_GUARDED_BY(short_mutex_);  // threads not told yet
  absl::Mutex warning_mutex_;
  std::string of_convolution_
      ABSL_GUARDED_BY(warning_mutex_);  // the library's text about the last convolution that it refused
  std::vector<std::string> warnings_ ABSL_GUARDED_BY(warning_mutex_);
  std::set<std::string> warned_of_ ABSL_GUARDED_BY(warning_mutex_);  // keys of past warnings
  std::vector<std::pair<std::string, std::string>> recorded_warnings_ ABSL_GUARDED_BY(warning_mutex_);
  absl::Mutex order_;
  std::atomic<bool> is_recording_ = false, is_broken_ = false;
  std::atomic<int> recording_error_ = 0;  // the device's first error while it records
  absl::Mutex lists_mutex_;
  absl::flat_hash_map<std::string, std::shared_ptr<const void>> lists_ ABSL_GUARDED_BY(lists_mutex_);  // by content
  size_t lists_bytes_ ABSL_GUARDED_BY(lists_mutex_) = 0;
  std::vector<std::shared_ptr<const void>> recorded_lists_ ABSL_GUARDED_BY(lists_mutex_);
};

}  // namespace amp

#endif  // AMP_RUNTIME_DEVICE_ACCELERATOR_H_
