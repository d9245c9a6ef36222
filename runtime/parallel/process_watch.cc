#include "runtime/parallel/process_watch.h"

#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

namespace amp {

ProcessIdentity OwnIdentity() {
  ProcessIdentity own;
  if (std::FILE* file = std::fopen("/proc/sys/kernel/random/boot_id", "re"); file != nullptr) {
    if (std::fgets(own.boot, sizeof own.boot, file) == nullptr) own.boot[0] = '\0';
    std::fclose(file);
  }
  struct stat numbering = {};
  if (::stat("/proc/self/ns/pid", &numbering) == 0) own.numbering = numbering.st_ino;
  own.process = ::getpid();
  return own;
}

ProcessWatch::ProcessWatch(const ProcessIdentity& identity) {
  const ProcessIdentity own = OwnIdentity();
  const bool is_near = own.boot[0] != '\0' && std::memcmp(own.boot, identity.boot, sizeof own.boot) == 0 &&
                       own.numbering != 0 && own.numbering == identity.numbering && own.process != identity.process;
  constexpr long kPidfdOpen = 434;  // of all architectures, as below
  if (is_near) file_ = static_cast<int>(::syscall(kPidfdOpen, identity.process, 0));
}

ProcessWatch::~ProcessWatch() {
  if (IsOfOne()) ::close(file_);
}

bool ProcessWatch::HasEnded() const {
  if (!IsOfOne()) return false;
  pollfd request = {.fd = file_, .events = POLLIN, .revents = 0};
  return ::poll(&request, 1, 0) > 0;
}

void ProcessWatch::Kill() const {
  constexpr long kPidfdSendSignal = 424;
  if (IsOfOne()) ::syscall(kPidfdSendSignal, file_, SIGKILL, nullptr, 0);
}

}  // namespace amp
