// Writes the outputs of a run to files, or prints a line for each.
#ifndef AMP_TOOLS_RUN_RUN_OUTPUTS_H_
#define AMP_TOOLS_RUN_RUN_OUTPUTS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "runtime/session.h"
#include "tools/library/file_uses.h"

namespace amp {

// In the place of a path: standard output.
inline constexpr absl::string_view kStandardOutput = "-";

// Before a run. Errors: kInvalidArgument for a path with another ending than .npz or .npy. One without any is an
// archive.
absl::Status CheckOutputsEnding(const std::string& path);

// The kind of file by its path: an array if it ends in .npy, else an archive.
FileKind KindOfOutputs(const std::string& path);

// Writes an archive of all outputs, or an array of a single one. A sequence y becomes the elements y/0, y/1 and so on,
// or an array y of no element if it is empty; a map becomes y/keys and y/values. `force`: replaces files of another
// kind, too. Errors: kInvalidArgument for empty optionals, several arrays for a file of one, and what NpyBytes refuses
// (runtime/values/npy.h); kUnavailable.
absl::Status WriteOutputsFile(const Session& session, const std::vector<Datum>& outputs, const std::string& path,
                              bool force);

// Returns the bytes of such an archive.
absl::StatusOr<std::string> OutputsArchive(const Session& session, const std::vector<Datum>& outputs);

// Before a run. Errors: kInvalidArgument, a path that ends in .npy, which holds one array, where the model has several
// outputs, with what to write instead.
absl::Status CheckOutputsFile(const Session& session, const std::string& path);

// A file for each in `folder`, which is made if there is none. Characters of names that may mean something to a file
// system become "_"; a name that is then there already gets a number. Returns the files. `uses`: what the program
// reads and writes besides. Errors: as above, and those of CheckFileUses, before any file is written.
absl::StatusOr<std::vector<std::string>> WriteOutputsFolder(const Session& session, const std::vector<Datum>& outputs,
                                                            const std::string& folder, FileUses uses);

// "y  float32[2,2]  0.5 0.25 1 2; smallest 0.25, largest 2, mean 0.9375"
std::string DescribeOutputs(const Session& session, const std::vector<Datum>& outputs);

}  // namespace amp

#endif  // AMP_TOOLS_RUN_RUN_OUTPUTS_H_
