#include "tools/run_on_large_stack.h"

#include <pthread.h>
#include <sys/resource.h>

#include "ir/base/status.h"

namespace amp {
namespace {

bool IsLargeHere(const rlimit& stack) { return stack.rlim_cur == RLIM_INFINITY || stack.rlim_cur >= kLargeStackBytes; }

void* CallWork(void* work) {
  (*static_cast<absl::FunctionRef<void()>*>(work))();
  return nullptr;
}

}  // namespace

absl::Status RunOnLargeStack(absl::FunctionRef<void()> work) {
  rlimit stack = {};
  if (getrlimit(RLIMIT_STACK, &stack) != 0 || IsLargeHere(stack)) {
    work();
    return absl::OkStatus();
  }
  pthread_attr_t attributes;
  pthread_t thread;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kLargeStackBytes);
  const int error = pthread_create(&thread, &attributes, CallWork, &work);
  pthread_attr_destroy(&attributes);
  if (error == 0) {
    pthread_join(thread, nullptr);
    return absl::OkStatus();
  }
  return LimitError("a stack of ", kLargeStackBytes >> 10, " KiB is needed (ulimit -s), found ", stack.rlim_cur >> 10,
                    " KiB and no memory for more");
}

}  // namespace amp
