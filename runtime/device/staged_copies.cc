#include "runtime/device/staged_copies.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/kernel/parallel_for.h"

namespace amp {
namespace {

constexpr size_t kLeastPart = 8;             // divides a stage: copies smaller than this part are not worth staging
constexpr size_t kPiece = size_t{64} << 10;  // bytes that a thread copies at a time

void CopyByThreads(std::byte* to, const std::byte* from, size_t size_bytes) {
  ParallelFor((size_bytes + kPiece - 1) / kPiece, kPiece, [&](const Share& share) {
    const size_t first = share.first * kPiece, end = std::min(share.end * kPiece, size_bytes);
    std::memcpy(to + first, from + first, end - first);
  });
}

}  // namespace

StagedCopies::~StagedCopies() {
  const absl::MutexLock lock(&mutex_);
  // Errors are reported elsewhere.
  for (int slot = 0; slot < device::kNumStages; ++slot) static_cast<void>(Await(slot));
  Unpin();
}

void StagedCopies::Unpin() {
  for (Stage& stage : stages_) {
    if (stage.memory != nullptr) table_.unpin(table_.self, stage.memory);
    stage.memory = nullptr;
  }
}

bool StagedCopies::Pin() {
  if (was_tried_) return why_not_.empty();
  was_tried_ = true;
  for (Stage& stage : stages_) {
    void* memory = nullptr;
    if (const int error = table_.pin(table_.self, table_.stage_bytes, &memory); error != 0) {
      why_not_ = absl::StrCat(table_.error_text(error), " (error ", error, ")");
      Unpin();
      return false;
    }
    stage.memory = static_cast<std::byte*>(memory);
  }
  return true;
}

bool StagedCopies::IsStaged(size_t size_bytes) {
  if (table_.pin == nullptr || size_bytes < std::max<size_t>(table_.stage_bytes / kLeastPart, 1)) return false;
  const absl::MutexLock lock(&mutex_);
  return Pin();
}

int StagedCopies::Await(int slot) {
  Stage& stage = stages_[static_cast<size_t>(slot)];
  if (!stage.is_busy) return 0;
  stage.is_busy = false;
  return table_.await_stage(table_.self, slot);
}

int StagedCopies::CopyIn(void* to, absl::Span<const std::byte> from) {
  if (!IsStaged(from.size())) return table_.copy_in(table_.self, to, from.data(), from.size());
  const absl::MutexLock lock(&mutex_);
  for (size_t first = 0; first < from.size(); first += table_.stage_bytes) {
    const int slot = next_;
    next_ = (next_ + 1) % device::kNumStages;
    if (const int error = Await(slot); error != 0) return error;
    Stage& stage = stages_[static_cast<size_t>(slot)];
    const absl::Span<const std::byte> part = from.subspan(first, table_.stage_bytes);
    CopyByThreads(stage.memory, part.data(), part.size());
    const int error =
        table_.stage_in(table_.self, static_cast<std::byte*>(to) + first, stage.memory, part.size(), slot);
    if (error != 0) return error;
    stage.is_busy = true;
  }
  return 0;
}

int StagedCopies::CopyOut(absl::Span<const device::CopyOutArguments> copies) {
  std::vector<device::CopyOutArguments> small;
  for (const device::CopyOutArguments& copy : copies) {
    if (!IsStaged(copy.size_bytes)) {
      small.push_back(copy);
    } else if (const int error = CopyOutStaged(copy); error != 0) {
      return error;
    }
  }
  return small.empty() ? 0 : table_.copy_out(table_.self, small.data(), small.size());
}

int StagedCopies::CopyOutStaged(const device::CopyOutArguments& copy) {
  const absl::MutexLock lock(&mutex_);
  const absl::Span<std::byte> to(static_cast<std::byte*>(copy.to), copy.size_bytes);
  absl::Span<std::byte> awaited;  // destination of the stage that was started last
  const auto finish = [&](int slot) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const int error = awaited.empty() ? 0 : Await(slot);
    if (error == 0) CopyByThreads(awaited.data(), stages_[static_cast<size_t>(slot)].memory, awaited.size());
    return error;
  };
  int last = 0;
  for (size_t first = 0; first < to.size(); first += table_.stage_bytes) {
    const int slot = next_;
    next_ = (next_ + 1) % device::kNumStages;
    if (const int error = Await(slot); error != 0) return error;
    const absl::Span<std::byte> part = to.subspan(first, table_.stage_bytes);
    Stage& stage = stages_[static_cast<size_t>(slot)];
    const int error = table_.stage_out(table_.self, stage.memory, static_cast<const std::byte*>(copy.from) + first,
                                       part.size(), slot);
    if (error != 0) return error;
    stage.is_busy = true;
    if (const int failed = finish(last); failed != 0) return failed;
    awaited = part;
    last = slot;
  }
  return finish(last);
}

std::string StagedCopies::Text() const {
  const absl::MutexLock lock(&mutex_);
  if (!was_tried_) return "";
  if (!why_not_.empty()) return absl::StrCat("large copies go from and to pageable memory: none is pinned: ", why_not_);
  constexpr double kMebibyte = 1 << 20;
  return absl::StrCat("large copies go through ", device::kNumStages, " x ",
                      static_cast<double>(table_.stage_bytes) / kMebibyte, " MiB of pinned memory");
}

}  // namespace amp
