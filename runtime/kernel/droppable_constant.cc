#include "runtime/kernel/droppable_constant.h"

#include "ir/base/status.h"
#include "runtime/kernel/host_memory.h"

namespace amp {

ConstantHold::~ConstantHold() {
  if (constant_ != nullptr) constant_->EndHold();
}

absl::Status DroppableConstant::BringBack(ConstantUse use) {
  if (restore_ == nullptr) return absl::OkStatus();
  AMP_RETURN_IF_ERROR(restore_(elements_));
  restore_ = nullptr;
  stays_ = use == ConstantUse::kInRuns;
  return absl::OkStatus();
}

absl::StatusOr<ConstantHold> DroppableConstant::Hold(ConstantUse use) {
  const absl::MutexLock lock(&mutex_);
  AMP_RETURN_IF_ERROR(BringBack(use));
  ++holds_;
  return ConstantHold(this);
}

void DroppableConstant::EndHold() {
  const absl::MutexLock lock(&mutex_);
  --holds_;
}

bool DroppableConstant::MayGo() {
  const absl::MutexLock lock(&mutex_);
  return MayGoNow();
}

void DroppableConstant::Drop(Restore restore) {
  const absl::MutexLock lock(&mutex_);
  if (MayGoNow() && DropHostPages(elements_)) restore_ = std::move(restore);
}

absl::StatusOr<float> DroppableConstant::LargestMagnitude(absl::FunctionRef<float()> find) {
  const absl::MutexLock lock(&mutex_);
  if (!largest_magnitude_.has_value()) {
    AMP_RETURN_IF_ERROR(BringBack(ConstantUse::kOnce));
    largest_magnitude_ = find();
  }
  return *largest_magnitude_;
}

}  // namespace amp
