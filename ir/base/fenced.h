// Where the library ends and its host begins: no exception goes further, and no status has marks of our own.
//
// Nothing that is done when memory has run out needs memory: what is returned then was made before the work began.
#ifndef AMP_IR_BASE_FENCED_H_
#define AMP_IR_BASE_FENCED_H_

#include <type_traits>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace amp {

// kResourceExhausted, "out of memory". Made when it is first asked for; copies allocate nothing.
absl::Status OutOfMemory();

// The payload by which InFile knows a status that names a file already (ir/base/status.h). It stays in the library:
// whoever prints a status prints its payloads too.
inline constexpr absl::string_view kNamesAFile = "amp/names-a-file";

// `status` as hosts get it: in the file, unless that is "" or the status names one, and without the mark.
absl::Status AsHostsGetIt(absl::string_view file, const absl::Status& status);

// For a handler that catches all. Memory and threads that could not be had are `out_of_memory`.
absl::Status StatusOfException(absl::string_view file, const absl::Status& out_of_memory) noexcept;

namespace fenced {

inline absl::Status Convert(absl::string_view file, const absl::Status& result) { return AsHostsGetIt(file, result); }
template <typename T>
absl::StatusOr<T> Convert(absl::string_view file, absl::StatusOr<T> result) {
  if (result.ok()) return result;
  return AsHostsGetIt(file, result.status());
}

}  // namespace fenced

// Returns what `work` returns, a Status or a StatusOr. Errors name `file`, as InFile does, unless it is "".
template <typename Work>
std::invoke_result_t<Work> Fenced(absl::string_view file, Work work) {
  absl::Status out_of_memory(absl::StatusCode::kResourceExhausted, "");  // takes no memory
  try {
    out_of_memory = AsHostsGetIt(file, OutOfMemory());
    return fenced::Convert(file, work());
  } catch (...) {
    return StatusOfException(file, out_of_memory);
  }
}

}  // namespace amp

#endif  // AMP_IR_BASE_FENCED_H_
