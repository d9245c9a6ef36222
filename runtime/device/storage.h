// Converts tensors into arguments of the device's kernels.
#ifndef AMP_RUNTIME_DEVICE_STORAGE_H_
#define AMP_RUNTIME_DEVICE_STORAGE_H_

#include <cstddef>
#include <memory>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ir/base/status.h"
#include "runtime/device/accelerator.h"
#include "runtime/device/raw/element.h"
#include "runtime/device/raw/shape.h"
#include "runtime/kernel/broadcast.h"
#include "runtime/kernel/kernel.h"

namespace amp {

device::Storage StorageOf(DType type);
// Whether the type is float32, float16 or bfloat16: kernels compute these in float32.
inline bool IsDeviceFloat(DType type) { return device::IsFloat(StorageOf(type)); }
inline constexpr char kNoDeviceFloat[] = "another type than float32, float16 and bfloat16";
inline constexpr char kTooManyAxes[] = "more than 8 axes";

// REQUIRES: at most kMaxAxes dims.
template <int kOperands>
device::StridedShape<kOperands> ShapeOf(const Broadcast& merged) {
  device::StridedShape<kOperands> shape;
  shape.rank = static_cast<int32_t>(merged.dims.size());
  for (size_t axis = 0; axis < merged.dims.size(); ++axis) {
    shape.dims[axis] = static_cast<uint32_t>(merged.dims[axis]);
    for (size_t operand = 0; operand < kOperands; ++operand) {
      shape.strides[operand][axis] = merged.strides[operand][axis];
    }
  }
  return shape;
}

inline uint32_t CountOf(const Tensor& tensor) { return static_cast<uint32_t>(tensor.num_elements()); }

// Copies a list to the device's memory; returns null if it is empty. Errors: no memory; kCancelled while the device
// records, as a recording cannot have a new list.
template <typename List>
absl::StatusOr<std::shared_ptr<const void>> ShareList(Accelerator& device, const List& list) {
  std::shared_ptr<const void> shared = device.Share(list);
  AMP_RETURN_IF_ERROR(device.Status());
  if (shared == nullptr && !list.empty()) return absl::CancelledError("a new list while the device records");
  return shared;
}

// Returns the kernel row of a kernel that runs on a device.
constexpr KernelRow DeviceRow(absl::string_view op_type, KernelFunction function, RefusalFunction refusal,
                              PortSet host_inputs = {}, absl::string_view domain = "") {
  return {.op_type = op_type,
          .function = function,
          .domain = domain,
          .refusal = refusal,
          .family = "device",
          .host_inputs = host_inputs,
          .runs_on_device = true};
}

// Marks the row of a kernel that may overwrite an input with its result: KernelContext::MakeOutputInPlace.
constexpr KernelRow InPlace(KernelRow row) {
  row.writes_in_place = true;
  return row;
}

}  // namespace amp

#endif  // AMP_RUNTIME_DEVICE_STORAGE_H_
