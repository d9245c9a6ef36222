// "Did you mean": the known name that a mistyped one is closest to.
#ifndef AMP_PASSES_SUGGEST_H_
#define AMP_PASSES_SUGGEST_H_

#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace amp {

// The candidate with the smallest edit distance (insertions, deletions, replacements; case ignored), if it is within
// a third of the name's length, else the shortest candidate that `name` begins; "" if there is neither. The first of
// equals wins. Linear in the candidates' total length, for names up to 64 bytes; longer ones get "".
std::string ClosestName(absl::string_view name, absl::Span<const std::string> candidates);

// "; did you mean 'X'?", or "" where ClosestName finds nothing: the end of an error message.
std::string DidYouMean(absl::string_view name, absl::Span<const std::string> candidates);

}  // namespace amp

#endif  // AMP_PASSES_SUGGEST_H_
