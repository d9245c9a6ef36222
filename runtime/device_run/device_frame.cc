#include "runtime/device_run/device_frame.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "ir/base/status.h"

namespace amp {

absl::StatusOr<Datum> DeviceConstants::Get(Accelerator& device, ValueId value, const Tensor& tensor) {
  const absl::MutexLock lock(&mutex_);
  Datum& copy = copies_[static_cast<int>(value.index())];
  if (copy.IsEmpty()) {
    AMP_ASSIGN_OR_RETURN(Tensor copied, device.CopyIn(tensor, nullptr));
    size_bytes_ += static_cast<int64_t>(copied.size_bytes());
    if (copied.data() != nullptr) places_.insert(copied.data());
    copy = Datum(std::move(copied));
  }
  return copy;
}

bool DeviceConstants::Holds(const void* data) const {
  const absl::MutexLock lock(&mutex_);
  return places_.contains(data);
}

int64_t DeviceConstants::size_bytes() const {
  const absl::MutexLock lock(&mutex_);
  return size_bytes_;
}

DeviceFrame::DeviceFrame(const IdVector<ValueId, Datum>& constants, const DevicePlace& place, TensorMemory* host_memory)
    : ValueFrame(constants, host_memory), constants_(constants), place_(place), copies_(constants.size()) {}

void DeviceFrame::Set(ValueId value, Datum datum) {
  values_[value] = std::move(datum);
  copies_[value] = Datum();
}

absl::StatusOr<const Datum*> DeviceFrame::OnHost(ValueId value) {
  const Datum& made = values_[value];
  if (made.tensor() == nullptr || made.tensor()->IsOnHost()) return &made;
  AMP_RETURN_IF_ERROR(BringToHost({&value, 1}));
  return &copies_[value];
}

absl::Status DeviceFrame::BringToHost(absl::Span<const ValueId> values) {
  std::vector<ValueId> missing;
  std::vector<const Tensor*> tensors;
  for (const ValueId value : values) {
    const Tensor* const made = values_[value].tensor();
    const bool is_there = made == nullptr || made->IsOnHost() || !copies_[value].IsEmpty();
    if (is_there || std::find(missing.begin(), missing.end(), value) != missing.end()) continue;
    missing.push_back(value);
    tensors.push_back(made);
  }
  if (missing.empty()) return absl::OkStatus();
  AMP_ASSIGN_OR_RETURN(std::vector<Tensor> made, place_.device.CopyOutAll(tensors, memory_));
  for (size_t i = 0; i < missing.size(); ++i) {
    ++counts_.out;
    counts_.out_bytes += static_cast<int64_t>(made[i].size_bytes());
    copies_[missing[i]] = Datum(std::move(made[i]));
  }
  return absl::OkStatus();
}

const Tensor* DeviceFrame::FindOnDevice(ValueId value) const {
  const Tensor* const made = values_[value].tensor();
  if (made != nullptr && !made->IsOnHost()) return made;
  const Tensor* const copy = copies_[value].tensor();
  return copy != nullptr && !copy->IsOnHost() ? copy : nullptr;
}

absl::flat_hash_map<const void*, int> DeviceFrame::CountOnDevice() const {
  absl::flat_hash_map<const void*, int> counts;
  for (const auto* const all : {&values_, &copies_}) {
    for (const Datum& datum : *all) {
      const Tensor* const tensor = datum.tensor();
      if (tensor != nullptr && !tensor->IsOnHost()) ++counts[tensor->data()];
    }
  }
  return counts;
}

absl::StatusOr<const Datum*> DeviceFrame::OnDevice(ValueId value) {
  const Datum& made = values_[value];
  const Tensor* const tensor = made.tensor();
  if (tensor == nullptr || tensor->dtype() == DType::kString || !tensor->IsOnHost()) return &made;
  Datum& copy = copies_[value];
  if (!copy.IsEmpty()) return &copy;
  const Tensor* const constant = constants_[value].tensor();
  if (constant != nullptr && constant->data() == tensor->data()) {
    AMP_ASSIGN_OR_RETURN(copy, place_.constants.Get(place_.device, value, *tensor));
  } else {
    AMP_ASSIGN_OR_RETURN(copy, place_.device.CopyIn(*tensor, &place_.memory));
    ++counts_.in;
    counts_.in_bytes += static_cast<int64_t>(tensor->size_bytes());
  }
  return &copy;
}

}  // namespace amp
