// What becomes of the outputs of a run: files, or a line for each.
#ifndef AMP_TOOLS_RUN_OUTPUTS_H_
#define AMP_TOOLS_RUN_OUTPUTS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/session.h"
#include "tools/file_uses.h"

namespace amp {

// An archive of all; of a sequence y the elements y/0, y/1 and so on, of a map y/keys and y/values. Errors:
// kInvalidArgument for empty optionals and what NpyBytes refuses (runtime/npy.h), kUnavailable.
// `force`: in place of a file that is no archive.
absl::Status WriteOutputsFile(const Session& session, const std::vector<Datum>& outputs, const std::string& path,
                              bool force);

// A file for each in `folder`, which is made if there is none. Characters of names that may mean something to a file
// system become "_"; a name that is then there already gets a number. Returns the files. `uses`: what the program
// reads and writes besides. Errors: as above, and those of CheckFileUses, before any file is written.
absl::StatusOr<std::vector<std::string>> WriteOutputsFolder(const Session& session, const std::vector<Datum>& outputs,
                                                            const std::string& folder, FileUses uses);

// "y  float32[2,2]  0.5 0.25 1 2; smallest 0.25, largest 2, mean 0.9375"
std::string DescribeOutputs(const Session& session, const std::vector<Datum>& outputs);

}  // namespace amp

#endif  // AMP_TOOLS_RUN_OUTPUTS_H_
