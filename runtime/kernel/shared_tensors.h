// Tensors that kernels of several nodes make of one constant, and keep as long as their session. A layer that is
// written out step by step reads the same weights in every step, and they are packed once.
//
//   shared.Get(weights.data(), primitive.packing(), [&] { return Pack(weights); })
#ifndef AMP_RUNTIME_KERNEL_SHARED_TENSORS_H_
#define AMP_RUNTIME_KERNEL_SHARED_TENSORS_H_

#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "runtime/kernel/tensor.h"

namespace amp {

class SharedTensors {
 public:
  // The tensor in this form, made if there is none; two threads do not make one at once. `constant`: where the elements
  // of a constant are as long as this lives: the same ones, if they are there (runtime/kernel/droppable_constant.h).
  // Errors: what `make` gives.
  absl::StatusOr<Tensor> Get(const void* constant, const std::string& form,
                             absl::FunctionRef<absl::StatusOr<Tensor>()> make);

  // Returns what `find` says about a form, for the first caller alone.
  bool Knows(const std::string& form, absl::FunctionRef<bool()> find);

 private:
  absl::Mutex mutex_;
  absl::flat_hash_map<std::pair<const void*, std::string>, Tensor> tensors_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<std::string, bool> known_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace amp

#endif  // AMP_RUNTIME_KERNEL_SHARED_TENSORS_H_
