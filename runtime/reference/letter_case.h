// Upper and lower case of UTF-8 text, character by character, as Unicode has it for every language but those whose
// letters differ from all others' (Turkish: i and dotted I).
#ifndef AMP_RUNTIME_REFERENCE_LETTER_CASE_H_
#define AMP_RUNTIME_REFERENCE_LETTER_CASE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace amp {

enum class LetterCase { kAsIs, kLower, kUpper };

// Bytes that are no UTF-8 stay as they are. Errors: a character beyond ASCII, on a system that has no Unicode locale.
absl::StatusOr<std::string> ToCase(absl::string_view text, LetterCase letter_case);

}  // namespace amp

#endif  // AMP_RUNTIME_REFERENCE_LETTER_CASE_H_
