#include "runtime/onednn/held_signals.h"

#include <pthread.h>

namespace amp::onednn {
namespace {

sigset_t SignalsFromOutside() {
  sigset_t signals;
  sigfillset(&signals);
  for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS}) sigdelset(&signals, own);
  return signals;
}

}  // namespace

bool KeepsValuesBelowStack(const std::string& implementation) {
  return implementation.find("gemm:") != std::string::npos;
}

HeldSignals::HeldSignals(bool holds) : holds_(holds), before_() {
  if (!holds_) return;
  const sigset_t signals = SignalsFromOutside();
  pthread_sigmask(SIG_BLOCK, &signals, &before_);
}

HeldSignals::~HeldSignals() {
  if (holds_) pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

void HoldSignalsOfWorker() {
  thread_local bool is_held = false;
  if (is_held) return;
  is_held = true;
  const sigset_t signals = SignalsFromOutside();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

}  // namespace amp::onednn
