// The choices of parts that a search tries: the best by predictions, in the order in which it looks for the first one
// that is within an error, and those beside others.
#ifndef AMP_TOOLS_LIBRARY_CHOICE_ORDER_H_
#define AMP_TOOLS_LIBRARY_CHOICE_ORDER_H_

#include <functional>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/library/part_errors.h"

namespace amp {

// From `all`, the parts that may be low, to nothing low, each with a smaller error than the one before: the choices of
// the convex hull (PartErrors::BestChoices), and those on the way where the parts are raised to float32 one by one,
// each time the part that takes the most off the error for the bytes that it costs. Parts that are `harmful` are
// float32 in all but the first. Left out is a choice for which another one saves no less at an error that is no larger;
// that nothing low saves more does not count where `saves_nothing_is_fine`. Errors: those of `may_go_on`.
absl::StatusOr<std::vector<LowParts>> OrderChoices(const PartErrors& errors, const LowParts& all,
                                                   const LowParts& harmful, bool saves_nothing_is_fine,
                                                   const std::function<absl::Status()>& may_go_on);

// Returns the choice that is worth the most of `others` and of all that differ from one of `from` by one part of `all`,
// or by two where there are no more than 40; nothing where none is worth more than `least`.
std::optional<LowParts> BestNeighbour(const PartErrors& errors, const LowParts& all, const std::vector<LowParts>& from,
                                      const std::vector<LowParts>& others,
                                      const std::function<double(const PartErrors::Choice&)>& worth, double least);

}  // namespace amp

#endif  // AMP_TOOLS_LIBRARY_CHOICE_ORDER_H_
