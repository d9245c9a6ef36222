#include "tools/train/stop_signals.h"

#include <atomic>

namespace amp {
namespace {

// Handlers reach nothing else.
std::atomic<int> caught = 0;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)
std::atomic<void (*)(int)> before[2] = {SIG_DFL,
                                        SIG_DFL};  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)

void Note(int signal) {
  int none = 0;
  if (caught.compare_exchange_strong(none, signal)) return;
  void (*const handler)(int) = before[signal == SIGINT ? 0 : 1];
  if (handler == SIG_DFL) {
    ::signal(signal, SIG_DFL);
    ::raise(signal);
  } else if (handler != SIG_IGN) {
    handler(signal);
  }
}

}  // namespace

StopSignals::StopSignals() {
  caught = 0;
  struct sigaction action = {};
  action.sa_handler = Note;
  action.sa_flags = SA_RESTART;
  ::sigaction(SIGINT, nullptr, &before_interrupt_);
  ::sigaction(SIGTERM, nullptr, &before_terminate_);
  before[0] = before_interrupt_.sa_handler;
  before[1] = before_terminate_.sa_handler;
  if (before_interrupt_.sa_handler != SIG_IGN) ::sigaction(SIGINT, &action, nullptr);
  if (before_terminate_.sa_handler != SIG_IGN) ::sigaction(SIGTERM, &action, nullptr);
}

StopSignals::~StopSignals() {
  ::sigaction(SIGINT, &before_interrupt_, nullptr);
  ::sigaction(SIGTERM, &before_terminate_, nullptr);
}

int StopSignals::Caught() const { return caught; }

}  // namespace amp
