// The inputs of a run, from the files and flags that amp-run is given.
#ifndef AMP_TOOLS_RUN_RUN_INPUTS_H_
#define AMP_TOOLS_RUN_RUN_INPUTS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/session.h"
#include "tools/run/run_arguments.h"

namespace amp {

// Reads the inputs of --inputs and --input; the latter override the former. A file is read once, as it may be a pipe.
// `notes` gets a line about casts. Errors: those of reading, which name the file, of CastInputs and CheckSymbols.
absl::StatusOr<NamedDatums> ReadGivenInputs(const RunArguments& arguments, const Session& session,
                                            std::vector<std::string>& notes);

// Returns the given inputs, and with --random-inputs made-up ones for the others. `notes` gets a line for sizes that
// are not the usual ones. Errors: kInvalidArgument if inputs are missing; those of MakeFittingInputs.
absl::StatusOr<NamedDatums> MakeUpOthers(const RunArguments& arguments, const Session& session,
                                         const NamedDatums& given, std::vector<std::string>& notes);

// Returns the status of the run. If inputs were made up, it says that they may not fit: see ExplainMadeUp.
absl::Status ExplainRun(const absl::Status& status, const RunArguments& arguments, const Session& session,
                        const NamedDatums& given);

// The inputs as the model declares them, where that means another width of float. Errors: those of Tensor::Create.
absl::StatusOr<NamedDatums> InputsAsDeclared(const NamedDatums& inputs, const Session& session);

}  // namespace amp

#endif  // AMP_TOOLS_RUN_RUN_INPUTS_H_
