// The values of a run, each where it was made, and where it was copied to since: in the processor's memory, or on a device.
//
//   frame.Set(x, datum)         frame.OnHost(x)       itself, or a copy from the device
//   frame.Free(x)               frame.OnDevice(x)     itself, or a copy to the device, of a constant once for all runs
//
// A value is copied at most once, however many read it, and every copy is counted.
#ifndef AMP_RUNTIME_RUN_VALUE_FRAME_H_
#define AMP_RUNTIME_RUN_VALUE_FRAME_H_

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "ir/graph/graph.h"
#include "runtime/device/accelerator.h"
#include "runtime/kernel/kernel.h"
#include "runtime/kernel/tensor.h"
#include "runtime/run/run_options.h"

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

// What a run with a device has of it; all must outlive the run.
struct DevicePlace {
  Accelerator* device = nullptr;   // null: there is none, and nothing else here
  TensorMemory* memory = nullptr;  // for values; null: the device's own
  DeviceConstants* constants = nullptr;
};

class ValueFrame {
 public:
  // `constants`: by value, of the model; `memory`: of what is copied to the processor's.
  ValueFrame(const IdVector<ValueId, Datum>& constants, const DevicePlace& place, TensorMemory* memory);

  const DevicePlace& place() const { return place_; }
  // Where it was made.
  Datum& operator[](ValueId value) { return values_[value]; }
  const Datum& operator[](ValueId value) const { return values_[value]; }
  void Set(ValueId value, Datum datum);
  void Free(ValueId value) { Set(value, Datum()); }

  // Tensors whose elements are there; what is no tensor, or has strings, is always on the processor. Good until the value
  // is set or freed. Errors: memory, and what failed on the device.
  absl::StatusOr<const Datum*> OnHost(ValueId value);
  absl::StatusOr<const Datum*> OnDevice(ValueId value);
  // What OnHost would copy of each of them, in one wait for the device.
  absl::Status BringToHost(absl::Span<const ValueId> values);
  // As OnDevice, where it is there already; else null.
  const Tensor* FindOnDevice(ValueId value) const;
  // By where their elements begin there, how many values have them.
  absl::flat_hash_map<const void*, int> CountOnDevice() const;
  const CopyCounts& copies() const { return counts_; }  // so far, without constants

 private:
  const IdVector<ValueId, Datum>& constants_;
  const DevicePlace place_;
  TensorMemory* const memory_;
  IdVector<ValueId, Datum> values_;
  IdVector<ValueId, Datum> copies_;  // in the other memory; empty without a device
  CopyCounts counts_;
};

}  // namespace amp

#endif  // AMP_RUNTIME_RUN_VALUE_FRAME_H_
