// The inputs of a run, from the files and flags that amp-run is given.
#ifndef AMP_TOOLS_RUN_INPUTS_H_
#define AMP_TOOLS_RUN_INPUTS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/session.h"
#include "tools/run_arguments.h"

namespace amp {

// Made-up ones first, over which those of --inputs come, over which those of --input come. `notes` gets a line for what
// was cast, and one for sizes that were made up and are not the usual ones. Errors: those of reading, which name the
// file, of CastInputs, CheckSymbols and MakeFittingInputs.
absl::StatusOr<NamedDatums> ReadRunInputs(const RunArguments& arguments, const Session& session,
                                          std::vector<std::string>& notes);

// What the run ended with, and where inputs were made up that they may not fit. See ExplainMadeUp.
absl::Status ExplainRun(const absl::Status& status, const RunArguments& arguments, const Session& session);

// The inputs as the model declares them, where that means another width of float. Errors: those of Tensor::Create.
absl::StatusOr<NamedDatums> InputsAsDeclared(const NamedDatums& inputs, const Session& session);

}  // namespace amp

#endif  // AMP_TOOLS_RUN_INPUTS_H_
