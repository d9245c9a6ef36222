// What a kernel makes of its node's attributes, once for all runs of a session.
//
//   AMP_ASSIGN_OR_RETURN(const auto forest, ReadOnce<Forest>(context, [&] { return ReadTreeEnsemble(context); }));
//
// Runs that begin while it is read wait for it; it is not changed after. What cannot be read is an error at every run.
#ifndef AMP_RUNTIME_REFERENCE_READ_ONCE_H_
#define AMP_RUNTIME_REFERENCE_READ_ONCE_H_

#include <cstddef>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "ir/base/status.h"
#include "runtime/kernel/kernel.h"

namespace amp {

template <typename T>
struct ReadAttributes : KernelState {
  absl::Mutex mutex;
  size_t features ABSL_GUARDED_BY(mutex) = 0;
  std::shared_ptr<const T> value ABSL_GUARDED_BY(mutex);
};

// What `read` gives, an absl::StatusOr<T>; again where the number of features, on which it depends, is another one.
template <typename T, typename Read>
absl::StatusOr<std::shared_ptr<const T>> ReadOnce(KernelContext& context, const Read& read, size_t features = 0) {
  auto& kept = context.State<ReadAttributes<T>>();
  const absl::MutexLock lock(&kept.mutex);
  if (kept.value == nullptr || kept.features != features) {
    AMP_ASSIGN_OR_RETURN(T value, read());
    kept.value = std::make_shared<const T>(std::move(value));
    kept.features = features;
  }
  return kept.value;
}

}  // namespace amp

#endif  // AMP_RUNTIME_REFERENCE_READ_ONCE_H_
