// The choices of parts that a search looks through for the first one that is within an error: the best by predictions.
#ifndef AMP_TOOLS_LIBRARY_CHOICE_ORDER_H_
#define AMP_TOOLS_LIBRARY_CHOICE_ORDER_H_

#include <functional>
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

}  // namespace amp

#endif  // AMP_TOOLS_LIBRARY_CHOICE_ORDER_H_
