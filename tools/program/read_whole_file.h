// A file that a user names on the command line, as bytes.
#ifndef AMP_TOOLS_PROGRAM_READ_WHOLE_FILE_H_
#define AMP_TOOLS_PROGRAM_READ_WHOLE_FILE_H_

#include <string>

#include "absl/status/statusor.h"

namespace amp {

// Pipes are read to their end. Errors: kUnavailable, which does not name the file.
absl::StatusOr<std::string> ReadWholeFile(const std::string& path);

}  // namespace amp

#endif  // AMP_TOOLS_PROGRAM_READ_WHOLE_FILE_H_
