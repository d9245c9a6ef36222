#include "ir/base/fenced.h"

#include <exception>
#include <new>
#include <string>
#include <system_error>

#include "ir/base/status.h"

namespace amp {
namespace {

// Whether the code means a lack of resources, which the system says of threads, too.
bool IsAboutResources(const std::error_code& code) {
  return code == std::errc::resource_unavailable_try_again || code == std::errc::not_enough_memory;
}

absl::Status Internal(absl::string_view file, const std::exception& error) {
  return AsHostsGetIt(
      file, absl::InternalError(absl::StrCat("a fault of this program, please report it: ", Escaped(error.what()))));
}

}  // namespace

absl::Status OutOfMemory() {
  static const absl::Status& status = *new absl::Status(LimitError("out of memory"));
  return status;
}

absl::Status AsHostsGetIt(absl::string_view file, const absl::Status& status) {
  absl::Status named = file.empty() ? status : InFile(file, status);
  named.ErasePayload(kNamesAFile);
  return named;
}

absl::Status StatusOfException(absl::string_view file, const absl::Status& out_of_memory) noexcept {
  try {
    try {
      throw;
    } catch (const std::bad_alloc&) {
      return out_of_memory;
    } catch (const std::system_error& error) {
      return IsAboutResources(error.code()) ? out_of_memory : Internal(file, error);
    } catch (const std::exception& error) {
      return Internal(file, error);
    }
  } catch (...) {  // no memory for the words
    return out_of_memory;
  }
}

}  // namespace amp
