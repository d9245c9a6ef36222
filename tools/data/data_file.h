// Data sets in files: NAME=FILE as --data has it.
#ifndef AMP_TOOLS_DATA_DATA_FILE_H_
#define AMP_TOOLS_DATA_DATA_FILE_H_

#include <string>

#include "absl/status/statusor.h"
#include "runtime/kernel/tensor.h"

namespace amp {

// "images.npz:train" -> "images.npz"; other files as they are.
std::string PathOfDataFile(const std::string& file);

// FILE.npy, FILE.npz:KEY, or IDX, plain or in gzip. The key may be left out for an archive of one array. Errors:
// kUnavailable, kInvalidArgument, kResourceExhausted, each naming the file.
absl::StatusOr<Tensor> ReadDataFile(const std::string& file);

}  // namespace amp

#endif  // AMP_TOOLS_DATA_DATA_FILE_H_
