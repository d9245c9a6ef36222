// Errors that a file or a flag can cause. One line each; the tool maps the code to its exit code.
//
//   meaning                                       absl code            exit
//   usage, list file, pattern                     kInvalidArgument     2
//   malformed or unsupported model                kDataLoss            3
//   refused by a safety rule                      kPermissionDenied    4
//   a resource limit                              kResourceExhausted   5
//   input or output failed                        kUnavailable         6
//   verification failed                           kFailedPrecondition  7
//   device, driver or its library not available   kUnimplemented       8
//   a device failed                               kAborted             8
//   our own bug                                   kInternal           70
#ifndef AMP_IR_BASE_STATUS_H_
#define AMP_IR_BASE_STATUS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace amp {

template <typename... Args>
absl::Status UsageError(const Args&... args) {
  return absl::InvalidArgumentError(absl::StrCat(args...));
}
template <typename... Args>
absl::Status ModelError(const Args&... args) {
  return absl::DataLossError(absl::StrCat(args...));
}
template <typename... Args>
absl::Status RefusedError(const Args&... args) {
  return absl::PermissionDeniedError(absl::StrCat(args...));
}
template <typename... Args>
absl::Status LimitError(const Args&... args) {
  return absl::ResourceExhaustedError(absl::StrCat(args...));
}
template <typename... Args>
absl::Status IoError(const Args&... args) {
  return absl::UnavailableError(absl::StrCat(args...));
}
template <typename... Args>
absl::Status DeviceError(const Args&... args) {
  return absl::UnimplementedError(absl::StrCat(args...));
}

// The process exit code for `status`; 0 for OK.
int ExitCode(const absl::Status& status);

// A name from a model, fit for one terminal line: control characters and invalid UTF-8 escaped, cut after 200 bytes.
std::string Escaped(absl::string_view name);
// `status` with "FILE: " in front of its message, unless it names a file that way already: the innermost one counts.
absl::Status InFile(absl::string_view file, absl::Status status);
bool NamesAFile(const absl::Status& status);
// "a, b, c and 2 more"
std::string FirstOf(absl::Span<const std::string> names);
// "'a', 'b', 'c' and 2 more", escaped; "none" of none: what there is, beside a name that is not.
std::string QuotedFirstOf(absl::Span<const std::string> names);

}  // namespace amp

#define AMP_RETURN_IF_ERROR(expression)                             \
  do {                                                              \
    if (absl::Status amp_status = (expression); !amp_status.ok()) { \
      return amp_status;                                            \
    }                                                               \
  } while (false)

#define AMP_CONCAT_INNER(a, b) a##b
#define AMP_CONCAT(a, b) AMP_CONCAT_INNER(a, b)
#define AMP_ASSIGN_OR_RETURN(lhs, expression) \
  AMP_ASSIGN_OR_RETURN_AS(AMP_CONCAT(amp_result_, __LINE__), lhs, expression)
#define AMP_ASSIGN_OR_RETURN_AS(result, lhs, expression) \
  auto result = (expression);                            \
  if (!result.ok()) {                                    \
    return std::move(result).status();                   \
  }                                                      \
  lhs = *std::move(result)

#endif  // AMP_IR_BASE_STATUS_H_
