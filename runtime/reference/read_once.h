// Values that a kernel reads from its node's attributes and constants, once for all runs of a session.
//
//   AMP_ASSIGN_OR_RETURN(const auto forest, ReadOnce<Forest>(context, [&] { return ReadTreeEnsemble(context); }));
//   AMP_ASSIGN_OR_RETURN(const auto places, ReadOnce<Places>(context, find, context.Input(0).dims()));
//
// Runs that begin while it is read wait for it; it is not changed after. What cannot be read is an error at every run.
#ifndef AMP_RUNTIME_REFERENCE_READ_ONCE_H_
#define AMP_RUNTIME_REFERENCE_READ_ONCE_H_

#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "ir/base/status.h"
#include "runtime/kernel/kernel.h"

namespace amp {

template <typename T, typename Key>
struct WhatWasRead : KernelState {
  absl::Mutex mutex;
  Key key ABSL_GUARDED_BY(mutex) = {};
  std::shared_ptr<const T> value ABSL_GUARDED_BY(mutex);
};

// Returns the result of `read`, an absl::StatusOr<T>. `read` is called again if the key, on which the result depends,
// has changed.
template <typename T, typename Read, typename Key = bool>
absl::StatusOr<std::shared_ptr<const T>> ReadOnce(KernelContext& context, const Read& read, const Key& key = {}) {
  auto& kept = context.State<WhatWasRead<T, Key>>();
  const absl::MutexLock lock(&kept.mutex);
  if (kept.value == nullptr || kept.key != key) {
    AMP_ASSIGN_OR_RETURN(T value, read());
    kept.value = std::make_shared<const T>(std::move(value));
    kept.key = key;
  }
  return kept.value;
}

}  // namespace amp

#endif  // AMP_RUNTIME_REFERENCE_READ_ONCE_H_
