#include "tools/c/context.h"

#include <time.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "tools/library/version.h"
#include "tools/program/bound_spinning.h"

namespace {

constexpr int64_t kBetweenQuestionsMs = 20;

std::atomic<bool> are_over = false;  // calls and callbacks
std::atomic<int> num_calls = 0;      // that run

}  // namespace

AmpBytes AmpContext::GiveBytes(std::string bytes) {
  const std::string& kept = texts_.emplace_back(std::move(bytes));
  return {kept.data(), kept.size()};
}

AmpCode AmpContext::Fail(const absl::Status& status) noexcept {
  try {
    error_ = std::string(status.message());
  } catch (...) {
    error_.clear();  // no memory for the line
  }
  return absl::IsCancelled(status) ? AMP_CANCELLED : static_cast<AmpCode>(amp::ExitCode(status));
}

absl::Status AmpContext::TellProgress(const std::string& step, int64_t done, int64_t total) {
  const AmpProgress progress = {progress_.user, step.c_str(), done, total};
  if (are_over) return absl::CancelledError("the process ends");
  if (progress_.call == nullptr || progress_.call(&progress) == 0) return absl::OkStatus();
  return absl::CancelledError("cancelled by the progress callback");
}

absl::Status AmpContext::MayReplace(const std::string& summary, std::unique_ptr<AmpReport> report) {
  if (are_over) return absl::CancelledError("the process ends");
  if (before_replacing_.call == nullptr) return absl::OkStatus();
  const AmpDecision decision = {before_replacing_.user, summary.c_str(), report.release()};
  if (before_replacing_.call(&decision) == 0) return absl::OkStatus();
  return absl::CancelledError("cancelled by the callback before_replacing");
}

absl::StatusOr<double> AmpContext::AskMetric(const std::string& model) {
  if (are_over) return absl::CancelledError("the process ends");
  AmpMetric metric = {metric_.user, model.c_str(), 0};
  if (metric_.call(&metric) == 0) return metric.value;
  return absl::CancelledError("cancelled by the metric callback");
}

// Asked before each node, so of the clock that costs least.
int64_t AmpContext::NowMs() {
  constexpr int64_t kMsOfSecond = 1000, kNsOfMs = 1'000'000;
  timespec now = {};
  ::clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return now.tv_sec * kMsOfSecond + now.tv_nsec / kNsOfMs;
}

absl::Status AmpContext::MayGoOn() {
  if (are_over) return absl::CancelledError("the process ends");
  if (cancel_.call == nullptr) return absl::OkStatus();
  const int64_t now = NowMs();
  if (now - last_asked_ms_ < kBetweenQuestionsMs) return absl::OkStatus();
  last_asked_ms_ = now;
  return cancel_.call(cancel_.user) == 0 ? absl::OkStatus() : absl::CancelledError("cancelled");
}

namespace amp {

CallScope::CallScope() noexcept { ++num_calls; }
CallScope::~CallScope() { --num_calls; }
bool CallScope::is_over() const { return are_over; }

absl::Status NullPointer(const char* name) { return UsageError("expected ", name, ", found a null pointer"); }

absl::Status ExpectBytes(const char* name, AmpBytes bytes) {
  return bytes.size == 0 ? absl::OkStatus() : Expect(name, bytes.data);
}

}  // namespace amp

extern "C" {

int amp_abi(void) { return AMP_ABI; }
const char* amp_version(void) { return amp::kVersion; }
const char* amp_spin_count(void) { return amp::SpinCount(); }
AmpContext* amp_context_new(void) {
  try {
    (void)amp::OutOfMemory();  // from now on there is one
    return new AmpContext;
  } catch (...) {
    return nullptr;
  }
}
void amp_context_free(AmpContext* context) { delete context; }
void amp_context_clear(AmpContext* context) {
  if (context != nullptr) context->Clear();
}
const char* amp_error(const AmpContext* context) {
  return context == nullptr ? "expected a context, found a null pointer" : context->error();
}
void amp_set_progress(AmpContext* context, int (*call)(const AmpProgress*), void* user) {
  if (context != nullptr) context->set_progress(call, user);
}
void amp_set_before_replacing(AmpContext* context, int (*call)(const AmpDecision*), void* user) {
  if (context != nullptr) context->set_before_replacing(call, user);
}
void amp_set_metric(AmpContext* context, int (*call)(AmpMetric*), void* user) {
  if (context != nullptr) context->set_metric(call, user);
}
void amp_end(void) {
  constexpr int kMostTries = 500;
  constexpr std::chrono::milliseconds kBetweenTries{10};
  are_over = true;
  for (int i = 0; i < kMostTries && num_calls > 0; ++i) std::this_thread::sleep_for(kBetweenTries);
}
void amp_set_cancel(AmpContext* context, int (*call)(void*), void* user) {
  if (context != nullptr) context->set_cancel(call, user);
}

}  // extern "C"
