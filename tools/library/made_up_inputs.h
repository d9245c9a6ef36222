// Inputs that nobody gave, of sizes that the model can be run with: those of unknown dimensions are tried.
//
//   audio[batch, samples], of which a window takes 256      [1, 16] does not fit, [1, 64] does not, [1, 256] does
#ifndef AMP_TOOLS_LIBRARY_MADE_UP_INPUTS_H_
#define AMP_TOOLS_LIBRARY_MADE_UP_INPUTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/random_inputs.h"
#include "runtime/session.h"

namespace amp {

struct MadeUpInputs {
  static constexpr int64_t kUsualDim = 16;
  NamedDatums inputs;
  int64_t other_dim = kUsualDim;    // what unknown dimensions are
  std::vector<Datum> outputs = {};  // of the run that took them; empty where none was needed
};

// Runs the model with dimensions of 16, 64, 256 and 1024 in the place of those that are unknown, first all but those of
// batches, then of those without names the last of each input alone, and gives the first inputs that it takes; without
// such dimensions it does not run. Errors: those of MakeRandomInputs; of the first run, where none is taken; of
// how.may_go_on.
absl::StatusOr<MadeUpInputs> MakeFittingInputs(const Session& session, RandomInputOptions options,
                                               const RunOptions& how = {});

// The flags that size what is unknown: "--dim n=N --dim x:1=N"; empty where nothing is.
std::string HowToSize(const Session& session, const RandomInputOptions& options);

// Explains the status of a run on made-up inputs. If a node refused them (kDataLoss), the inputs are at fault
// (kInvalidArgument): the message then lists the dimensions and says how to give inputs ("--input NAME=FILE").
absl::Status ExplainMadeUp(const absl::Status& status, const Session& session, const RandomInputOptions& options,
                           const std::string& how_to_give);

}  // namespace amp

#endif  // AMP_TOOLS_LIBRARY_MADE_UP_INPUTS_H_
