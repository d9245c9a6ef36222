#include "runtime/onednn/held_signals.h"

#include <pthread.h>
#include <time.h>

#include <cstdint>

namespace amp::onednn {
namespace {

sigset_t SignalsFromOutside() {
  sigset_t signals;
  sigfillset(&signals);
  for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS}) sigdelset(&signals, own);
  return signals;
}

// The state of a thread's signals.
struct Held {
  int runs = 0;
  bool is_held = false;
  sigset_t before = {};
  int64_t since = 0;
};

Held& OfThread() {
  thread_local Held held;
  return held;
}

// Reads the clock that costs least: it moves every few milliseconds.
int64_t Tick() {
  constexpr int64_t kNsOfSecond = 1'000'000'000;
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return now.tv_sec * kNsOfSecond + now.tv_nsec;
}

void Hold(Held& held) {
  const sigset_t signals = SignalsFromOutside();
  pthread_sigmask(SIG_BLOCK, &signals, &held.before);
  held.is_held = true;
  held.since = Tick();
}

void LetThrough(Held& held) {
  held.is_held = false;
  pthread_sigmask(SIG_SETMASK, &held.before, nullptr);
}

}  // namespace

bool KeepsValuesBelowStack(const std::string& implementation) {
  return implementation.find("gemm:") != std::string::npos;
}

HeldSignals::HeldSignals(bool holds) {
  Held& held = OfThread();
  if (!holds || held.is_held) return;
  Hold(held);
  restores_ = held.runs == 0;
}

HeldSignals::~HeldSignals() {
  if (restores_) LetThrough(OfThread());
}

void SignalsOfRun::Begin() { ++OfThread().runs; }

void SignalsOfRun::BetweenNodes() {
  Held& held = OfThread();
  if (held.is_held && Tick() != held.since) LetThrough(held);
}

void SignalsOfRun::End() {
  Held& held = OfThread();
  if (--held.runs == 0 && held.is_held) LetThrough(held);
}

void HoldSignalsOfWorker() {
  thread_local bool is_held = false;
  if (is_held) return;
  is_held = true;
  const sigset_t signals = SignalsFromOutside();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

}  // namespace amp::onednn
