#include "runtime/kernel/shared_tensors.h"

#include "ir/base/status.h"

namespace amp {

absl::StatusOr<Tensor> SharedTensors::Get(const void* constant, const std::string& form,
                                          absl::FunctionRef<absl::StatusOr<Tensor>()> make) {
  const absl::MutexLock lock(&mutex_);
  const auto it = tensors_.find({constant, form});
  if (it != tensors_.end()) return it->second;
  AMP_ASSIGN_OR_RETURN(Tensor made, make());
  tensors_.emplace(std::pair(constant, form), made);
  return made;
}

bool SharedTensors::Knows(const std::string& form, absl::FunctionRef<bool()> find) {
  const absl::MutexLock lock(&mutex_);
  const auto it = known_.find(form);
  return it != known_.end() ? it->second : known_.emplace(form, find()).first->second;
}

}  // namespace amp
