// Whether the inputs that users give are what the model declares, before it runs.
#ifndef AMP_TOOLS_RUN_GIVEN_INPUTS_H_
#define AMP_TOOLS_RUN_GIVEN_INPUTS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/session.h"

namespace amp {

enum class NumberCasts { kRefused, kDone };

// Floats for an input of another width of float, and integers for one of another width of integer, become what it
// declares; returns a text for each, "x (float64 to float32)". Errors: kInvalidArgument, such an input where casts are
// refused, with the flag that casts it, and an integer that the input's type does not hold.
absl::StatusOr<std::vector<std::string>> CastInputs(const Session& session, NumberCasts casts, NamedDatums& inputs);

// Error: kInvalidArgument, with both inputs, if dimensions of one name have two sizes. Names that exporters give to any
// unknown dimension ("?", "None", "unknown") do not count.
absl::Status CheckSymbols(const Session& session, const NamedDatums& inputs);

}  // namespace amp

#endif  // AMP_TOOLS_RUN_GIVEN_INPUTS_H_
