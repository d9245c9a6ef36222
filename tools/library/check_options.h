// Checks options against each other before any file is looked at, in the same way for the library and for the flags.
#ifndef AMP_TOOLS_LIBRARY_CHECK_OPTIONS_H_
#define AMP_TOOLS_LIBRARY_CHECK_OPTIONS_H_

#include <string>

#include "absl/status/status.h"
#include "tools/library/file_uses.h"
#include "tools/library/rewrite_options.h"

namespace amp {

// Errors name the flag, of which an option is the other form: kInvalidArgument; of files, kPermissionDenied (a file
// that is read would be written to, a symbolic link as output) and kUnavailable (no such folder), too.
absl::Status CheckOptions(const RewriteOptions& options);
absl::Status CheckOptionsForMemory(const RewriteOptions& options);
absl::Status CheckOptionsForFiles(const RewriteOptions& options, const std::string& input, const std::string& output);

// Whether the report has histograms of values.
bool DrawsValues(const RewriteOptions& options);
// kJson or kHtml, by the name of options.report_file.
FileKind KindOfReport(const RewriteOptions& options);

// The files that a rewrite reads and writes: the model's, and those that rows of RewriteFlags() name.
FileUses FilesOf(const RewriteOptions& options, const std::string& input, const std::string& output);

// Whether --verify=auto applies: to rewrites of whole forward models.
bool VerifiesByItself(const RewriteOptions& options);

}  // namespace amp

#endif  // AMP_TOOLS_LIBRARY_CHECK_OPTIONS_H_
