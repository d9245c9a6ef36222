// File-name patterns for names of nodes and tensors.
//
//   *       any characters, "/" included; "**" means the same
//   ?       one character
//   [a-z]   one character of a set; [!a-z] or [^a-z] one outside it; "]" first in the set is itself
//
// Everything else is itself, so "[[]" and "[*]" are how to write a literal "[" or "*". The whole name has to match.
// Matching takes time linear in the name, whatever the pattern: it is translated once for RE2, which never backtracks.
#ifndef AMP_PASSES_CLASSIFY_GLOB_H_
#define AMP_PASSES_CLASSIFY_GLOB_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace re2 {
class RE2;
}

namespace amp {

class Glob {
 public:
  static constexpr size_t kMaxPatternBytes = 4096;

  // Errors: kInvalidArgument for an empty pattern, an unclosed or empty set, a reversed range, invalid UTF-8;
  // kResourceExhausted for a pattern above kMaxPatternBytes.
  static absl::StatusOr<Glob> Parse(absl::string_view pattern);

  bool Matches(absl::string_view name) const;
  const std::string& pattern() const { return pattern_; }
  // Without wildcards: matches one name only.
  bool is_literal() const { return is_literal_; }

 private:
  Glob(std::string pattern, bool is_literal, std::shared_ptr<const re2::RE2> regex)
      : pattern_(std::move(pattern)), is_literal_(is_literal), regex_(std::move(regex)) {}

  std::string pattern_;
  bool is_literal_;
  std::shared_ptr<const re2::RE2> regex_;  // null for a literal
};

}  // namespace amp

#endif  // AMP_PASSES_CLASSIFY_GLOB_H_
