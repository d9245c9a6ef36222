// The shared part of the functions of the C interface: contexts, and the way from a status to a code.
#ifndef AMP_TOOLS_C_CONTEXT_H_
#define AMP_TOOLS_C_CONTEXT_H_

#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ir/base/fenced.h"
#include "ir/base/status.h"
#include "tools/c/amp_c.h"

namespace amp {
struct Report;
}

struct AmpReport {
  std::shared_ptr<const amp::Report> details;
};

struct AmpContext {
 public:
  // Texts and bytes live until Clear.
  const char* Give(std::string text) { return texts_.emplace_back(std::move(text)).c_str(); }
  AmpBytes GiveBytes(std::string bytes);
  void Clear() { texts_.clear(); }

  AmpCode Fail(const absl::Status& status) noexcept;
  const char* error() const { return error_.c_str(); }

  void set_progress(int (*call)(const AmpProgress*), void* user) { progress_ = {call, user}; }
  void set_cancel(int (*call)(void*), void* user) { cancel_ = {call, user}; }
  void set_before_replacing(int (*call)(const AmpDecision*), void* user) { before_replacing_ = {call, user}; }
  void set_metric(int (*call)(AmpMetric*), void* user) { metric_ = {call, user}; }
  bool HasMetric() const { return metric_.call != nullptr; }
  bool AsksBeforeReplacing() const { return before_replacing_.call != nullptr; }
  bool AsksWhetherToGoOn() const { return cancel_.call != nullptr; }
  bool TellsProgress() const { return progress_.call != nullptr; }
  // kCancelled where the callback says so.
  absl::Status TellProgress(const std::string& step, int64_t done, int64_t total);
  absl::Status MayGoOn();
  // Gives the callback the report.
  absl::Status MayReplace(const std::string& summary, std::unique_ptr<AmpReport> report);
  // The callback's number of the model in that file.
  absl::StatusOr<double> AskMetric(const std::string& model);
  // The callback is asked first a while after this.
  void BeginToAsk() {
    if (AsksWhetherToGoOn()) last_asked_ms_ = NowMs();
  }

 private:
  static int64_t NowMs();

  template <typename Call>
  struct Callback {
    Call call = nullptr;
    void* user = nullptr;
  };

  std::string error_;
  std::list<std::string> texts_;
  Callback<int (*)(const AmpProgress*)> progress_;
  Callback<int (*)(void*)> cancel_;
  Callback<int (*)(const AmpDecision*)> before_replacing_;
  Callback<int (*)(AmpMetric*)> metric_;
  int64_t last_asked_ms_ = 0;
};

namespace amp {

// A call of the interface, while it lasts.
class CallScope {
 public:
  CallScope() noexcept;
  ~CallScope();
  CallScope(const CallScope&) = delete;
  CallScope& operator=(const CallScope&) = delete;
  bool is_over() const;  // amp_end was called
};

// Runs `work`, which returns a Status, and keeps its error in the context.
template <typename Work>
AmpCode Call(AmpContext* context, Work work) noexcept {
  if (context == nullptr) return AMP_OPTION;
  const CallScope scope;
  if (scope.is_over()) return context->Fail(absl::CancelledError("the process ends"));
  try {
    const absl::Status status = work();
    return status.ok() ? AMP_OK : context->Fail(AsHostsGetIt("", status));
  } catch (...) {
    return context->Fail(StatusOfException("", OutOfMemory()));  // made when the context was
  }
}

absl::Status NullPointer(const char* name);
// An argument that must not be null.
template <typename T>
absl::Status Expect(const char* name, const T* pointer) {
  return pointer != nullptr ? absl::OkStatus() : NullPointer(name);
}
absl::Status ExpectBytes(const char* name, AmpBytes bytes);

inline absl::string_view AsView(AmpBytes bytes) { return {static_cast<const char*>(bytes.data), bytes.size}; }

}  // namespace amp

#endif  // AMP_TOOLS_C_CONTEXT_H_
