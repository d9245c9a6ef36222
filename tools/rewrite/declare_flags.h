// The command line of amp-rewrite: the tables of flags in tools/library, and those flags that are the program's alone.
// Parsing, --help, the manual page and the completion script follow from it.
#ifndef AMP_TOOLS_REWRITE_DECLARE_FLAGS_H_
#define AMP_TOOLS_REWRITE_DECLARE_FLAGS_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "tools/library/rewrite_options.h"

namespace CLI {
class App;
}

namespace amp {

// One flag of the tables, as a command line has it.
struct FlagText {
  bool is_on = false;              // of a switch
  std::string text;                // of an optional value, "true" without one
  std::vector<std::string> texts;  // of a flag that is repeated
};

struct Arguments {
  std::string input, output, completion;
  bool print_lists = false, list_profiles = false, quiet = false, verbose = false;
  std::map<std::string, FlagText> texts;  // by flag, before ReadTexts
  RewriteOptions options;
};

// Adds all flags and the texts of --help. Parsing fills `arguments`, which must outlive `app`; its options have the
// limits then, and after ReadTexts all else.
void DeclareFlags(CLI::App& app, Arguments& arguments);

// Errors: kInvalidArgument, with the flag.
absl::Status ReadTexts(Arguments& arguments);

// Flags whose value is optional, and stands behind "=".
std::vector<std::string> FlagsWithEquals();

}  // namespace amp

#endif  // AMP_TOOLS_REWRITE_DECLARE_FLAGS_H_
