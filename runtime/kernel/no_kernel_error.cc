#include "runtime/kernel/no_kernel_error.h"

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "ir/base/status.h"

namespace amp {
namespace {

constexpr absl::string_view kNoKernel = "amp/no-kernel";

}  // namespace

absl::Status NoKernelError(const std::string& message) {
  absl::Status status = ModelError(message);
  status.SetPayload(kNoKernel, absl::Cord());
  return status;
}

absl::Status NoKernelFor(DType dtype) { return NoKernelError(absl::StrCat("no kernel for ", DTypeName(dtype))); }

bool IsNoKernelError(const absl::Status& status) { return status.GetPayload(kNoKernel).has_value(); }

absl::Status WithPrefix(const std::string& prefix, const absl::Status& status) {
  absl::Status named(status.code(), absl::StrCat(prefix, status.message()));
  status.ForEachPayload([&](absl::string_view url, const absl::Cord& payload) { named.SetPayload(url, payload); });
  return named;
}

}  // namespace amp
