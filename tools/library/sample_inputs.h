// Inputs of a model from the files that users have them in.
#ifndef AMP_TOOLS_LIBRARY_SAMPLE_INPUTS_H_
#define AMP_TOOLS_LIBRARY_SAMPLE_INPUTS_H_

#include <string>

#include "absl/status/statusor.h"
#include "runtime/session.h"
#include "runtime/values/npy.h"

namespace amp {

// One sample from an archive of arrays that are named after the inputs, with "in::" in front or not; arrays whose names
// begin with "out::" are left out, and nothing is unpacked where a name is wrong. Errors: kUnavailable (no such file),
// kInvalidArgument (no archive, a name that is no input's, parts of a sequence or map that do not fit), each naming the
// file.
absl::StatusOr<NamedDatums> ReadSample(const std::string& path, const Session& session);

// Its arrays as they are: see AssembleInputs (tools/library/assemble_inputs.h).
absl::StatusOr<NamedTensors> ReadSampleArrays(const std::string& path, const Session& session);

// The sample, with float32 tensors in the 16-bit type where the model's input has that.
NamedDatums InputsFor(const Session& session, NamedDatums sample);

}  // namespace amp

#endif  // AMP_TOOLS_LIBRARY_SAMPLE_INPUTS_H_
