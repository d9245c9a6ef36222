// Which few of many nodes have to stay float32 for a model to be right: found by trying, with few tries.
#ifndef AMP_TOOLS_LIBRARY_FIND_MEND_H_
#define AMP_TOOLS_LIBRARY_FIND_MEND_H_

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace amp {

// Whether a model is right with these nodes denied. An error ends the search.
using MendTest = std::function<absl::StatusOr<bool>(const std::vector<std::string>& denied)>;

struct Mend {
  std::vector<std::string> nodes;  // seen to mend together; empty: nothing that was tried mends
  bool is_minimal = false;         // each of them is needed; false where the tries ran out before that was known
};

// Looks for few of `candidates`, likeliest first, that mend together: ever longer beginnings of the list until one
// mends, then the part of it that is needed, by halves (QuickXplain: U. Junker, AAAI 2004), in at most `most_tries`
// tries, at least one. Errors: those of `mends`.
absl::StatusOr<Mend> FindMend(const std::vector<std::string>& candidates, size_t most_tries, const MendTest& mends);

}  // namespace amp

#endif  // AMP_TOOLS_LIBRARY_FIND_MEND_H_
