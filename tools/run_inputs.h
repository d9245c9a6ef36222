// The inputs of a run, from the files and flags that amp-run is given.
#ifndef AMP_TOOLS_RUN_INPUTS_H_
#define AMP_TOOLS_RUN_INPUTS_H_

#include "absl/status/statusor.h"
#include "runtime/session.h"
#include "tools/run_arguments.h"

namespace amp {

// Made-up ones first, over which those of --inputs come, over which those of --input come. Errors: those of reading;
// they name the file.
absl::StatusOr<NamedDatums> ReadRunInputs(const RunArguments& arguments, const Session& session);

// The inputs as the model declares them, where that means another width of float. Errors: those of Tensor::Create.
absl::StatusOr<NamedDatums> InputsAsDeclared(const NamedDatums& inputs, const Session& session);

}  // namespace amp

#endif  // AMP_TOOLS_RUN_INPUTS_H_
