// "Did you mean": the known name that a mistyped one is closest to.
#ifndef AMP_PASSES_CLASSIFY_SUGGEST_H_
#define AMP_PASSES_CLASSIFY_SUGGEST_H_

#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace amp {

// The candidate that `name` is likeliest a slip of the hand for: a letter too many or too few, or two swapped, per
// three letters (another letter counts 1.5; one is allowed in names of two and more); case is ignored. Else the
// shortest candidate that `name` begins; "" if there is neither. The first of equals wins. Linear in their length,
// for names up to 64 bytes; longer ones get "".
std::string ClosestName(absl::string_view name, absl::Span<const std::string> candidates);

// "; did you mean 'X'?", or "" where ClosestName finds nothing: the end of an error message.
std::string DidYouMean(absl::string_view name, absl::Span<const std::string> candidates);

// Names of operators by domain, "" for ai.onnx.
using OperatorNames = std::map<std::string, std::vector<std::string>>;

// DidYouMean for an operator with its domain: suggests the closest name of its domain or, if the domain is unknown, of
// the closest domain; else an operator of just that name in another domain.
std::string DidYouMeanOperator(absl::string_view domain, absl::string_view op, const OperatorNames& known);

}  // namespace amp

#endif  // AMP_PASSES_CLASSIFY_SUGGEST_H_
