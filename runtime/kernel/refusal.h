// A kernel's answer "not for me": the next kernel of the node is tried, or a fusion runs node by node.
//
//   Refusal RefuseSoftmax(const KernelContext& context) {        before anything is done
//     if (context.Input(0).dtype() != DType::kFloat32) return "another type than float32";
//     return {};
//   }
//   absl::Status Softmax(KernelContext& context) {
//     if (!primitive.ok()) return Refused(primitive.text());     found out on the way, with nothing done yet
//   }
#ifndef AMP_RUNTIME_KERNEL_REFUSAL_H_
#define AMP_RUNTIME_KERNEL_REFUSAL_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace amp {

// A status that says that a kernel refuses its inputs for this reason. It stays inside a run: no exit code stands for
// it.
absl::Status Refused(absl::string_view reason);
bool IsRefusal(const absl::Status& status);

// True where a kernel refuses, with the reason as a text that outlives it.
class [[nodiscard]] Refusal {
 public:
  // The kernel takes its inputs.
  constexpr Refusal() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): a text reads as the refusal that it is the reason of
  constexpr Refusal(const char* reason) : reason_(reason) {}

  constexpr explicit operator bool() const { return reason_ != nullptr; }
  // NOLINTNEXTLINE(google-explicit-constructor): so that a kernel can return it
  operator absl::Status() const { return reason_ == nullptr ? absl::OkStatus() : Refused(reason_); }
  // REQUIRES: it is true.
  constexpr const char* reason() const { return reason_; }

 private:
  const char* reason_ = nullptr;
};

}  // namespace amp

#endif  // AMP_RUNTIME_KERNEL_REFUSAL_H_
