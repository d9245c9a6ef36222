// The values of a run that are alive, by their ids in the model.
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
  // `constants`: the model's, by value, with which a run begins; `memory`: what is made of a value is made there; null:
  // on the heap.
  ValueFrame(const IdVector<ValueId, Datum>& constants, TensorMemory* memory) : memory_(memory), values_(constants) {}
  virtual ~ValueFrame() = default;

  // As it was made, wherever its elements lie.
  const Datum& operator[](ValueId value) const { return values_[value]; }
  virtual void Set(ValueId value, Datum datum) { values_[value] = std::move(datum); }
  void Free(ValueId value) { Set(value, Datum()); }

  // The value where the processor sees its elements. The pointer is good until the value is set or freed.
  virtual absl::StatusOr<const Datum*> OnHost(ValueId value) { return &values_[value]; }
  // The memory for what is made of a tensor where that one lies.
  virtual TensorMemory* MemoryBeside(const Tensor&) const { return memory_; }
  // How many values have been copied from one memory to another, constants left out.
  virtual int64_t num_copies() const { return 0; }

 protected:
  TensorMemory* const memory_;
  IdVector<ValueId, Datum> values_;
};

}  // namespace amp

#endif  // AMP_RUNTIME_RUN_VALUE_FRAME_H_
