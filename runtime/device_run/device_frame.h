// The values of a run with a device. A value lies where it was made, in the processor's memory or in the device's, and
// is copied to the other memory when it is needed there.
//
//   frame.Set(x, datum)         frame.OnHost(x)       x itself, or a copy from the device
//   frame.Free(x)               frame.OnDevice(x)     x itself, or a copy to the device
//
// A value is copied at most once per run, a constant once per session, however many instructions read it. Every copy
// is counted.
#ifndef AMP_RUNTIME_DEVICE_RUN_DEVICE_FRAME_H_
#define AMP_RUNTIME_DEVICE_RUN_DEVICE_FRAME_H_

#include <cstdint>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "ir/graph/graph.h"
#include "runtime/device/accelerator.h"
#include "runtime/kernel/kernel.h"
#include "runtime/kernel/tensor.h"
#include "runtime/run/run_options.h"
#include "runtime/run/value_frame.h"

namespace amp {

// The constants of a session that kernels on a device read. Each is copied to the device when a kernel first reads it.
class DeviceConstants : public ConstantMemory {
 public:
  // Returns the copy of a constant on the device. REQUIRES: the tensor is the model's constant `value`.
  absl::StatusOr<Datum> Get(Accelerator& device, ValueId value, const Tensor& tensor);
  bool Holds(const void* data) const override;
  int64_t size_bytes() const;

 private:
  mutable absl::Mutex mutex_;
  absl::flat_hash_map<int, Datum> copies_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_set<const void*> places_ ABSL_GUARDED_BY(mutex_);  // addresses of the copies' elements
  int64_t size_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
};

// The device of a run, its memory and its constants; all must outlive the run.
struct DevicePlace {
  Accelerator& device;
  TensorMemory& memory;  // in which values are allocated
  DeviceConstants& constants;
};

class DeviceFrame : public ValueFrame {
 public:
  // `constants`: the model's, by value. `host_memory`: where values copied to the processor are allocated; null: the
  // heap.
  DeviceFrame(const IdVector<ValueId, Datum>& constants, const DevicePlace& place, TensorMemory* host_memory);

  const DevicePlace& place() const { return place_; }
  void Set(ValueId value, Datum datum) override;

  // Returns the value with its elements in that memory. Values that are no tensors, and strings, are always in the
  // processor's. The pointer is valid until the value is set or freed. Errors: no memory; an earlier failure on the
  // device.
  absl::StatusOr<const Datum*> OnHost(ValueId value) override;
  absl::StatusOr<const Datum*> OnDevice(ValueId value);
  // Makes the copies that OnHost would make for these values, waiting for the device only once.
  absl::Status BringToHost(absl::Span<const ValueId> values);
  // Returns the value's tensor on the device if it lies there already; else null.
  const Tensor* FindOnDevice(ValueId value) const;
  // Returns how many values begin at each address of the device's memory.
  absl::flat_hash_map<const void*, int> CountOnDevice() const;

  TensorMemory* MemoryBeside(const Tensor& tensor) const override {
    return tensor.IsOnHost() ? memory_ : &place_.memory;
  }
  const CopyCounts& copies() const { return counts_; }  // so far, not counting constants
  int64_t num_copies() const override { return counts_.in + counts_.out; }

 private:
  const IdVector<ValueId, Datum>& constants_;
  const DevicePlace place_;
  IdVector<ValueId, Datum> copies_;  // of values, in the memory where they were not made
  CopyCounts counts_;
};

}  // namespace amp

#endif  // AMP_RUNTIME_DEVICE_RUN_DEVICE_FRAME_H_
