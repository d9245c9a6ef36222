// Observed values as a file, so that a model is run on its data once and rewritten often: --ranges FILE.json.
//
//   {"schema": 2, "values": {"conv1_out": {"elements": 200704, "largest": 1.2e6, "lowest": -8e5, "highest": 1.2e6,
//                                          "from_zero": 3e-7, "below_one": 2e-4, "above_minus_one": 0.001,
//                                          "float16": {"overflow": 37, "underflow": 0, "error": 0.0002},
//                                          "bfloat16": {"overflow": 0, "underflow": 0, "error": 0.0017}}}}
//
// A number that no element has is null (ObservedEnds). Files of schema 1 have none of those from "lowest" to
// "above_minus_one".
#ifndef AMP_TOOLS_LIBRARY_RANGES_FILE_H_
#define AMP_TOOLS_LIBRARY_RANGES_FILE_H_

#include <string>

#include "absl/status/statusor.h"
#include "ir/base/observed_values.h"

namespace amp {

std::string RangesJson(const ObservedValues& observed);

// Errors: kUnavailable (no such file), kInvalidArgument (other JSON than the above), each naming the file.
absl::StatusOr<ObservedValues> ReadRanges(const std::string& path);

}  // namespace amp

#endif  // AMP_TOOLS_LIBRARY_RANGES_FILE_H_
