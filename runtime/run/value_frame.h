// The live values of a run, by their ids in the model.
#ifndef AMP_RUNTIME_RUN_VALUE_FRAME_H_
#define AMP_RUNTIME_RUN_VALUE_FRAME_H_

#include <cstdint>
#include <utility>

#include "absl/status/statusor.h"
#include "ir/graph/graph.h"
#include "runtime/kernel/tensor.h"

namespace amp {

class ValueFrame {
 public:
  // `constants`: the values that a run begins with, by value id. `memory`: where converted copies of values are made;
  // null: on the heap.
  ValueFrame(const IdVector<ValueId, Datum>& constants, TensorMemory* memory) : memory_(memory), values_(constants) {}
  virtual ~ValueFrame() = default;

  // Returns the value in the memory and layout in which it was made.
  const Datum& operator[](ValueId value) const { return values_[value]; }
  virtual void Set(ValueId value, Datum datum) { values_[value] = std::move(datum); }
  void Free(ValueId value) { Set(value, Datum()); }

  // Returns the value with its elements in the processor's memory. The pointer is valid until the value is set or
  // freed.
  virtual absl::StatusOr<const Datum*> OnHost(ValueId value) { return &values_[value]; }
  // Returns the memory in which a converted copy of the tensor is made: the memory that the tensor lies in.
  virtual TensorMemory* MemoryBeside(const Tensor&) const { return memory_; }
  // The number of values copied from one memory to another so far, not counting constants.
  virtual int64_t num_copies() const { return 0; }

 protected:
  TensorMemory* const memory_;
  IdVector<ValueId, Datum> values_;
};

}  // namespace amp

#endif  // AMP_RUNTIME_RUN_VALUE_FRAME_H_
