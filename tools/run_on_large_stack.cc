#include "tools/run_on_large_stack.h"

#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>

#include "ir/base/status.h"

namespace amp {
namespace {

bool IsLargeHere(const rlimit& stack) { return stack.rlim_cur == RLIM_INFINITY || stack.rlim_cur >= kLargeStackBytes; }

struct Task {
  absl::FunctionRef<void()> work;
  sigset_t signals;  // that are blocked while it is done
};

void* DoTask(void* argument) {
  const Task& task = *static_cast<Task*>(argument);
  pthread_sigmask(SIG_SETMASK, &task.signals, nullptr);
  task.work();
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
  // Signals come to the thread that does the work, which knows when they have to wait.
  Task task = {work, {}};
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &task.signals);
  const int error = pthread_create(&thread, &attributes, DoTask, &task);
  pthread_attr_destroy(&attributes);
  if (error == 0) pthread_join(thread, nullptr);
  pthread_sigmask(SIG_SETMASK, &task.signals, nullptr);
  if (error == 0) return absl::OkStatus();
  return LimitError("a stack of ", kLargeStackBytes >> 10, " KiB is needed (ulimit -s), found ", stack.rlim_cur >> 10,
                    " KiB and no memory for more");
}

}  // namespace amp
