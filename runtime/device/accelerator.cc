#include "runtime/device/accelerator.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "ir/base/status.h"
#include "runtime/device/raw/move.h"
#include "runtime/device/raw/multiply.h"
#include "runtime/kernel/refusal.h"
#include "runtime/kernel/shape_math.h"

namespace amp {
namespace {

// Bytes of lists that are kept for later calls with the same content.
constexpr size_t kMostListBytes = size_t{64} << 20;

}  // namespace

CapturedGraph::~CapturedGraph() {
  if (content_ != nullptr) device_.table_.release_recording(device_.table_.self, content_);
}

Accelerator::~Accelerator() {
  {
    const absl::MutexLock lock(&lists_mutex_);
    lists_.clear();
  }
  copies_.reset();
  table_.close(table_.self);
}

void Accelerator::Note(int error) {
  if (error == 0) return;
  int none = 0;
  if (is_recording_) {  // the kernel has not run: the run begins again, and finds errors that persist
    recording_error_.compare_exchange_strong(none, error);
    return BreakRecording();
  }
  first_error_.compare_exchange_strong(none, error);
}

void Accelerator::NoteShortOfMemory() {
  const absl::MutexLock lock(&short_mutex_);
  short_of_memory_.insert(std::this_thread::get_id());
  is_short_of_memory_ = true;
}

absl::Status Accelerator::Status() {
  if (const int error = first_error_; error != 0) {
    const std::string text = absl::StrCat(name_, " failed: ", table_.error_text(error), " (error ", error, ")");
    return error == device::kOutOfMemory ? LimitError(text) : absl::AbortedError(text);
  }
  if (!is_short_of_memory_) return absl::OkStatus();
  const absl::MutexLock lock(&short_mutex_);
  const bool is_short = short_of_memory_.erase(std::this_thread::get_id()) > 0;
  is_short_of_memory_ = !short_of_memory_.empty();
  return is_short ? LimitError("the device is out of memory for a list that a kernel reads") : absl::OkStatus();
}

absl::Status Accelerator::AfterLibrary(int error, const std::string& text) {
  static_assert(device::kNoProduct == device::kNotTaken);
  if (error == device::kNotTaken) return Refused(text);
  if (error == device::kOutOfMemory) return LimitError("the device is out of memory: ", text);
  if (error == device::kNoLibrary) return absl::AbortedError(absl::StrCat(name_, ": ", text));
  Note(error);
  absl::Status status = Status();
  if (error == 0) return status;
  if (status.ok()) return absl::CancelledError(text);  // while the device records
  return absl::AbortedError(absl::StrCat(status.message(), ": ", text));
}

absl::Status Accelerator::MultiplyByLibrary(const device::ProductArguments& product, std::string& text) {
  char what[device::kMaxProductText] = "";
  const int error = table_.multiply(table_.self, &product, what);
  return AfterLibrary(error, text = what);
}

absl::Status Accelerator::Multiply(const device::ProductArguments& product, std::string& text) {
  absl::Status status = MultiplyByLibrary(product, text);
  if (!IsRefusal(status)) return status;
  Warn(absl::StrCat("product: ", text),
       absl::StrCat("products of matrices run in a slow kernel of our own: ", Escaped(text)));
  text = absl::StrCat("kernel of our own: ", text);
  Start(device::MultiplyArguments{product});
  return is_recording_ ? absl::OkStatus() : Status();
}

absl::Status Accelerator::Convolve(const device::LibraryConvolution& convolution, std::string& text) {
  char what[device::kMaxOperationText] = "";
  const int error = table_.convolve(table_.self, &convolution, what);
  text = what;
  const bool is_slow = error == device::kWithoutTensorCores;
  {
    const absl::MutexLock lock(&warning_mutex_);
    of_convolution_ = error == device::kNotTaken ? text : "";
  }
  if (is_slow) {
    Warn("convolution by others", absl::StrCat("a convolution in 16 bits runs without Tensor Cores: ", Escaped(text)));
  }
  return AfterLibrary(is_slow ? 0 : error, text);
}

absl::Status Accelerator::Attend(const device::LibraryAttention& attention, std::string& text) {
  char what[device::kMaxOperationText] = "";
  const int error = table_.attend(table_.self, &attention, what);
  text = what;
  if (error == device::kNotTaken) {
    Warn(absl::StrCat("attention: ", text), absl::StrCat("attention runs node by node: ", Escaped(text)));
  }
  return AfterLibrary(error, text);
}

// ---- warnings -------------------------------------------------------------------------------------------------------

void Accelerator::NoteDirectConvolution(DType dtype) {
  std::string why;
  {
    const absl::MutexLock lock(&warning_mutex_);
    why = of_convolution_.empty() ? "" : absl::StrCat(": ", Escaped(of_convolution_));
  }
  const std::string text = absl::StrCat(dtype == DType::kFloat32 ? "a convolution runs in a slow kernel of our own"
                                                                 : "a convolution in 16 bits runs without Tensor Cores",
                                        why);
  Warn(text, text);
}

void Accelerator::Warn(const std::string& key, const std::string& text) {
  const absl::MutexLock lock(&warning_mutex_);
  if (is_recording_) {
    recorded_warnings_.emplace_back(key, text);
  } else if (warned_of_.insert(key).second) {
    warnings_.push_back(text);
  }
}

void Accelerator::WarnOfRecorded(bool is_there) {
  std::vector<std::pair<std::string, std::string>> recorded;
  {
    const absl::MutexLock lock(&warning_mutex_);
    recorded = std::exchange(recorded_warnings_, {});
  }
  if (!is_there) return;
  for (const auto& [key, text] : recorded) Warn(key, text);
}

std::vector<std::string> Accelerator::TakeWarnings() {
  const absl::MutexLock lock(&warning_mutex_);
  return std::exchange(warnings_, {});
}

absl::Status Accelerator::Finish() {
  BreakRecording();
  if (is_recording_) return absl::CancelledError("waiting while the device records");
  Note(table_.finish(table_.self));
  return Status();
}

std::shared_ptr<void> Accelerator::Allocate(size_t size_bytes) {
  BreakRecording();
  void* memory = nullptr;
  const int error = table_.allocate(table_.self, std::max<size_t>(size_bytes, 1), &memory);
  if (error != 0) {
    if (error != device::kOutOfMemory) Note(error);
    return nullptr;
  }
  return {memory, [this](void* block) { table_.release(table_.self, block); }};
}

absl::StatusOr<Tensor> Accelerator::CopyIn(const Tensor& tensor, TensorMemory* memory) {
  AMP_ASSIGN_OR_RETURN(Tensor copy, Tensor::Create(tensor.dtype(), tensor.dims(), memory == nullptr ? this : memory));
  copy.set_layout(tensor.layout());
  AMP_RETURN_IF_ERROR(CopyInto(tensor, copy));
  return copy;
}

absl::Status Accelerator::CopyInto(const Tensor& tensor, Tensor& to) {
  AMP_CHECK(tensor.dtype() == to.dtype() && tensor.dims() == to.dims() && tensor.layout() == to.layout());
  if (to.num_elements() == 0) return absl::OkStatus();
  const absl::Span<const std::byte> bytes = tensor.bytes();
  BreakRecording();
  if (is_recording_) return absl::CancelledError("a copy while the device records");
  Note(copies_->CopyIn(to.mutable_data(), bytes));
  return Status();
}

absl::StatusOr<Tensor> Accelerator::CopyOut(const Tensor& tensor, TensorMemory* memory) {
  const Tensor* const one[] = {&tensor};
  AMP_ASSIGN_OR_RETURN(std::vector<Tensor> copies, CopyOutAll(one, memory));
  return std::move(copies.front());
}

absl::StatusOr<std::vector<Tensor>> Accelerator::CopyOutAll(absl::Span<const Tensor* const> tensors,
                                                            TensorMemory* memory) {
  std::vector<Tensor> made;
  std::vector<device::CopyOutArguments> copies;
  for (const Tensor* const tensor : tensors) {
    AMP_CHECK(Has(*tensor) || tensor->num_elements() == 0);
    AMP_ASSIGN_OR_RETURN(Tensor copy, Tensor::Create(tensor->dtype(), tensor->dims(), memory));
    copy.set_layout(tensor->layout());
    const absl::Span<std::byte> bytes = copy.mutable_bytes();
    if (!bytes.empty()) copies.push_back({.to = bytes.data(), .from = tensor->data(), .size_bytes = bytes.size()});
    made.push_back(std::move(copy));
  }
  if (copies.empty()) return made;
  BreakRecording();
  if (is_recording_) return absl::CancelledError("a copy while the device records");
  Note(copies_->CopyOut(copies));
  AMP_RETURN_IF_ERROR(Status());
  return made;
}

void Accelerator::CopyWithin(const Tensor& from, Tensor& to) {
  AMP_CHECK(from.dtype() == to.dtype() && from.num_elements() == to.num_elements());
  if (to.num_elements() > 0) CopyBlocks(from, {0, 0}, to, {0, 0}, static_cast<size_t>(to.num_elements()), 1);
}

// ---- moving elements ------------------------------------------------------------------------------------------------

void Accelerator::CopyBlocks(const Tensor& from, BlockPlaces source, Tensor& to, BlockPlaces target, size_t run,
                             size_t count) {
  Start(device::CopyBlocksArguments{.from = from.data(),
                                    .to = to.mutable_data(),
                                    .count = static_cast<uint32_t>(run * count),
                                    .element_bytes = ElementBytes(to.dtype()),
                                    .run = static_cast<uint32_t>(run),
                                    .from_first = static_cast<int64_t>(source.first),
                                    .from_step = static_cast<int64_t>(source.step),
                                    .to_first = static_cast<int64_t>(target.first),
                                    .to_step = static_cast<int64_t>(target.step)});
}

void Accelerator::CopyStrided(const Tensor& from, int64_t start, absl::Span<const int64_t> dims,
                              absl::Span<const int64_t> strides, Tensor& to) {
  AMP_CHECK(dims.size() <= device::kMaxAxes);
  device::CopyStridedArguments copy = {.from = from.data(),
                                       .to = to.mutable_data(),
                                       .count = static_cast<uint32_t>(to.num_elements()),
                                       .element_bytes = ElementBytes(to.dtype()),
                                       .start = start,
                                       .shape = {.rank = static_cast<int32_t>(dims.size())}};
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    copy.shape.dims[axis] = static_cast<uint32_t>(dims[axis]);
    copy.shape.strides[0][axis] = strides[axis];
  }
  Start(copy);
}

void Accelerator::CopyPicked(const Tensor& from, absl::Span<const std::vector<int64_t>> picks, const Tensor* fill,
                             Tensor& to) {
  AMP_CHECK(picks.size() <= device::kMaxAxes);
  device::CopyPickedArguments copy = {.from = from.data(),
                                      .to = to.mutable_data(),
                                      .count = static_cast<uint32_t>(to.num_elements()),
                                      .element_bytes = ElementBytes(to.dtype()),
                                      .fill = 0,
                                      .picks = nullptr,
                                      .rank = static_cast<int32_t>(picks.size()),
                                      .dims = {}};
  if (fill != nullptr) std::memcpy(&copy.fill, fill->bytes().data(), copy.element_bytes);
  const Dims strides = RowStrides(from.dims());
  std::vector<int64_t> places;
  for (size_t axis = 0; axis < picks.size(); ++axis) {
    copy.dims[axis] = static_cast<uint32_t>(picks[axis].size());
    for (const int64_t pick : picks[axis]) places.push_back(pick == kNowhere ? kNowhere : pick * strides[axis]);
  }
  const std::shared_ptr<const void> shared = Share(places);
  copy.picks = static_cast<const int64_t*>(shared.get());
  if (shared != nullptr || places.empty()) Start(copy);
}

void Accelerator::CopyRuns(const Tensor& from, absl::Span<const size_t> firsts, size_t run, Tensor& to) {
  const std::vector<int64_t> places(firsts.begin(), firsts.end());
  const std::shared_ptr<const void> shared = Share(places);
  if (shared == nullptr) return;
  Start(device::CopyRunsArguments{.from = from.data(),
                                  .to = to.mutable_data(),
                                  .count = static_cast<uint32_t>(to.num_elements()),
                                  .element_bytes = ElementBytes(to.dtype()),
                                  .run = static_cast<uint32_t>(run),
                                  .firsts = static_cast<const int64_t*>(shared.get())});
}

void Accelerator::SetZero(Tensor& to) { Note(table_.set_zero(table_.self, to.mutable_data(), to.size_bytes())); }

// ---- lists ----------------------------------------------------------------------------------------------------------

std::shared_ptr<const void> Accelerator::Kept(std::shared_ptr<const void> list) {
  if (is_recording_) recorded_lists_.push_back(list);
  return list;
}

std::shared_ptr<const void> Accelerator::Share(absl::Span<const std::byte> list) {
  if (list.empty()) return nullptr;
  std::string content(reinterpret_cast<const char*>(list.data()), list.size());
  const absl::MutexLock lock(&lists_mutex_);
  if (const auto known = lists_.find(content); known != lists_.end()) return Kept(known->second);
  BreakRecording();
  if (is_recording_) return nullptr;
  const std::shared_ptr<void> memory = Allocate(list.size());
  if (memory == nullptr) {
    NoteShortOfMemory();
    return nullptr;
  }
  Note(copies_->CopyIn(memory.get(), list));
  if (lists_bytes_ + list.size() > kMostListBytes) {
    lists_.clear();
    lists_bytes_ = 0;
  }
  lists_bytes_ += list.size();
  lists_.emplace(std::move(content), memory);
  return memory;
}

// ---- recording ------------------------------------------------------------------------------------------------------

absl::Status Accelerator::WithoutRecording(int error) {
  const std::string text =
      absl::StrCat("the device does not record: ", table_.error_text(error), " (error ", error, ")");
  Warn(text, absl::StrCat("kernels are started one by one: ", text));
  return absl::CancelledError(text);
}

absl::Status Accelerator::StartRecording() {
  AMP_CHECK(CanRecord() && !is_recording_);
  if (const int error = table_.start_recording(table_.self); error != 0) return WithoutRecording(error);
  is_broken_ = false;
  recording_error_ = 0;
  is_recording_ = true;
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<CapturedGraph>> Accelerator::StopRecording() {
  AMP_CHECK(is_recording_);
  // Allocated first, as nothing is lost yet if there is no memory.
  std::unique_ptr<CapturedGraph> recording(new CapturedGraph(*this));
  is_recording_ = false;
  void*& content = recording->content_;
  const int stopped = table_.stop_recording(table_.self, &content), noted = recording_error_;
  const absl::MutexLock lock(&lists_mutex_);
  std::vector<std::shared_ptr<const void>> lists = std::move(recorded_lists_);
  recorded_lists_.clear();
  const bool is_there = content != nullptr && stopped == 0 && !is_broken_;
  WarnOfRecorded(is_there);
  if (is_broken_ && noted == 0) return absl::CancelledError("more than kernels while the device records");
  if (!is_there) return WithoutRecording(noted != 0 ? noted : stopped);
  recording->lists_ = std::move(lists);
  return recording;
}

void Accelerator::DropRecording() {
  if (!is_recording_.exchange(false)) return;
  void* content = nullptr;
  table_.stop_recording(table_.self, &content);
  if (content != nullptr) table_.release_recording(table_.self, content);
  const absl::MutexLock lock(&lists_mutex_);
  recorded_lists_.clear();
}

absl::Status Accelerator::Replay(const CapturedGraph& recording) {
  Note(table_.replay(table_.self, recording.content_));
  return Status();
}

}  // namespace amp
