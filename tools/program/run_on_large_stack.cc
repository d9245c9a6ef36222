#include "tools/program/run_on_large_stack.h"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "ir/base/status.h"

namespace amp {
namespace {

bool IsLargeHere(const rlimit& stack) { return stack.rlim_cur == RLIM_INFINITY || stack.rlim_cur >= kLargeStackBytes; }

// As much as models at the default limits take, twice.
constexpr size_t kReservedBytes = size_t{1} << 20;

bool HasAddressesFor(size_t size_bytes) {
  void* const memory = ::mmap(nullptr, size_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return memory != MAP_FAILED && ::munmap(memory, size_bytes) == 0;
}

// The stack has grown by so much, of which one page is in use. Where addresses run out (`ulimit -v`), it could not grow
// later, and the process would get a signal instead of an error.
[[gnu::noinline]] void TouchStack() {
  [[maybe_unused]] volatile char reserved[kReservedBytes];
  reserved[0] = 0;
}

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
    if (!HasAddressesFor(kReservedBytes)) {
      return LimitError("out of memory: a stack of ", kReservedBytes >> 10, " KiB is needed");
    }
    TouchStack();
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
