// Runs a float32 model and records what it shows of its values: see ir/base/observed_values.h.
#ifndef AMP_RUNTIME_OBSERVE_VALUES_H_
#define AMP_RUNTIME_OBSERVE_VALUES_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "ir/base/observed_values.h"
#include "runtime/session.h"

namespace amp {

// Adds to `observed` every float32 tensor that a run on these inputs computes, inputs included, and gives how many of
// them have a finite element. Errors: those of Session::Run.
absl::StatusOr<int64_t> ObserveValues(const Session& session, const NamedDatums& inputs, ObservedValues& observed);

}  // namespace amp

#endif  // AMP_RUNTIME_OBSERVE_VALUES_H_
