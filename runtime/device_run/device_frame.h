// The values of a run with a device: where each was made, and where it was copied to since, the processor's memory or the
// device's.
//
//   frame.Set(x, datum)         frame.OnHost(x)       itself, or a copy from the device
//   frame.Free(x)               frame.OnDevice(x)     itself, or a copy to the device, of a constant once for all runs
//
// A value is copied at most once, however many read it, and every copy is counted.
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

// The constants of a session that kernels on a device read, copied there when the first one does.
class DeviceConstants : public ConstantMemory {
 public:
  // REQUIRES: the tensor is the model's constant `value`.
  absl::StatusOr<Datum> Get(Accelerator& device, ValueId value, const Tensor& tensor);
  bool Holds(const void* data) const override;
  int64_t size_bytes() const;

 private:
  mutable absl::Mutex mutex_;
  absl::flat_hash_map<int, Datum> copies_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_set<const void*> places_ ABSL_GUARDED_BY(mutex_);  // of their elements
  int64_t size_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
};

// What a run has of its device; all must outlive the run.
struct DevicePlace {
  Accelerator& device;
  TensorMemory& memory;  // of the device, for values
  DeviceConstants& constants;
};

class DeviceFrame : public ValueFrame {
 public:
  // `constants`: by value, of the model; `host_memory`: of what is copied to the processor's; null: the heap.
  DeviceFrame(const IdVector<ValueId, Datum>& constants, const DevicePlace& place, TensorMemory* host_memory);

  const DevicePlace& place() const { return place_; }
  void Set(ValueId value, Datum datum) override;

  // Tensors whose elements are there; what is no tensor, or has strings, is always on the processor. Good until the value
  // is set or freed. Errors: memory, and what failed on the device.
  absl::StatusOr<const Datum*> OnHost(ValueId value) override;
  absl::StatusOr<const Datum*> OnDevice(ValueId value);
  // What OnHost would copy of each of them, in one wait for the device.
  absl::Status BringToHost(absl::Span<const ValueId> values);
  // As OnDevice, where it is there already; else null.
  const Tensor* FindOnDevice(ValueId value) const;
  // By where their elements begin there, how many values have them.
  absl::flat_hash_map<const void*, int> CountOnDevice() const;

  TensorMemory* MemoryBeside(const Tensor& tensor) const override {
    return tensor.IsOnHost() ? memory_ : &place_.memory;
  }
  const CopyCounts& copies() const { return counts_; }  // so far, without constants
  int64_t num_copies() const override { return counts_.in + counts_.out; }

 private:
  const IdVector<ValueId, Datum>& constants_;
  const DevicePlace place_;
  IdVector<ValueId, Datum> copies_;  // in the other memory
  CopyCounts counts_;
};

}  // namespace amp

#endif  // AMP_RUNTIME_DEVICE_RUN_DEVICE_FRAME_H_
