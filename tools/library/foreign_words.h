// Words that other tools have for what these programs do: a flag or a value that somebody brings along gets its name
// here. One table for all three programs. Tested in tests/tools/program/mistakes_test.cc.
#ifndef AMP_TOOLS_LIBRARY_FOREIGN_WORDS_H_
#define AMP_TOOLS_LIBRARY_FOREIGN_WORDS_H_

#include <string>

#include "absl/strings/string_view.h"

namespace amp {

// Returns what to write instead of a flag that `program` ("amp-run") does not have, as the end of an error message: ";
// write --dtype float16, the default", "; it is a flag of amp-rewrite"; "" if no tool is known to have the flag. `flag`
// with its dashes; case, "-" and "_" do not matter. `program` may have the flag: the answer is of no use then.
std::string HintForFlag(absl::string_view program, absl::string_view flag);

// Returns a hint for a value that a flag does not take: HintForValue("--target", "gpu").
std::string HintForValue(absl::string_view flag, absl::string_view value);

}  // namespace amp

#endif  // AMP_TOOLS_LIBRARY_FOREIGN_WORDS_H_
