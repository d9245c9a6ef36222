// Inputs of a model from arrays, in the form in which outputs are written.
//
//   x            the input x
//   y/0, y/1     the elements of the sequence y, in order
//   z/keys, z/values     of the map z; z/0/keys: of the first map of a sequence of maps
#ifndef AMP_TOOLS_LIBRARY_ASSEMBLE_INPUTS_H_
#define AMP_TOOLS_LIBRARY_ASSEMBLE_INPUTS_H_

#include <optional>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "runtime/session.h"
#include "runtime/values/npy.h"

namespace amp {

// Returns the input that an array of this name is, or is a part of; nothing if there is none. An input of exactly this
// name comes first, then the one of the longest name ahead of a "/".
std::optional<ValueId> InputOfArray(const Session& session, absl::string_view array);

// If several arrays have one name, the last counts. REQUIRES: each belongs to an input. Errors: kInvalidArgument, parts
// that are missing or that the input's type has no place for, keys and values of a map that do not fit each other.
absl::StatusOr<NamedDatums> AssembleInputs(const Session& session, NamedTensors arrays);

}  // namespace amp

#endif  // AMP_TOOLS_LIBRARY_ASSEMBLE_INPUTS_H_
