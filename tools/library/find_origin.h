// Finds where NaN and infinities of a run begin: the first value that has one although no input of its node has.
//
//   x (finite) -> MatMul -> h (finite) -> Log -> l (-inf) -> Mul -> g (NaN)            l
#ifndef AMP_TOOLS_LIBRARY_FIND_ORIGIN_H_
#define AMP_TOOLS_LIBRARY_FIND_ORIGIN_H_

#include <string>

#include "absl/status/statusor.h"
#include "runtime/run/run_options.h"
#include "runtime/session.h"

namespace amp {

// Runs the model, node by node. Returns "'l' of node Log#1 (Log-13), 3 of 64 elements", or "input 'x', 1 of 64
// elements" where an input has them; empty where all values are finite. Constants that are not finite, as masks have
// them, are no beginning, and neither is what is computed of them. Errors: those of Session::Run.
absl::StatusOr<std::string> FindOriginOfNotFinite(const Session& session, const NamedDatums& inputs,
                                                  RunOptions options = {});

}  // namespace amp

#endif  // AMP_TOOLS_LIBRARY_FIND_ORIGIN_H_
