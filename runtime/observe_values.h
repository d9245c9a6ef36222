// Runs a float32 model and records what it shows of its values: see ir/base/observed_values.h.
#ifndef AMP_RUNTIME_OBSERVE_VALUES_H_
#define AMP_RUNTIME_OBSERVE_VALUES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "ir/base/observed_values.h"
#include "runtime/session.h"

namespace amp {

// Counts over the float32 tensors of one run.
struct ObservedRun {
  int64_t with_finite = 0;          // tensors that have a finite element; those of a loop count in every round
  std::vector<std::string> of_nan;  // the names of values that have NaN, each once, in the order of the run
};

struct ObserveOptions {
  const NodeGate* may_go_on = nullptr;
  bool counts_exponents = false;
};
// Adds to `observed` every float32 tensor that a run on these inputs computes, inputs included. Errors: those of
// Session::Run.
absl::StatusOr<ObservedRun> ObserveValues(const Session& session, const NamedDatums& inputs, ObservedValues& observed,
                                          const ObserveOptions& options = {});

}  // namespace amp

#endif  // AMP_RUNTIME_OBSERVE_VALUES_H_
