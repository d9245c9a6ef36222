// The flags of amp-rewrite: one table, from which parsing, --help and the completion script follow.
#ifndef AMP_TOOLS_REWRITE_DECLARE_FLAGS_H_
#define AMP_TOOLS_REWRITE_DECLARE_FLAGS_H_

#include <optional>
#include <string>
#include <vector>

#include "tools/library/rewrite_options.h"

namespace CLI {
class App;
}

namespace amp {

// The command line. Words that are no option of the library are kept as they are.
struct Arguments {
  std::string input, output, report, explain, follow = "profile", opset = "auto";
  std::string verify, scale_weights, sensitivity;  // as explain: "true" without a value
  std::optional<std::string> keep_io;
  std::vector<std::string> dims;
  std::string completion;
  bool print_lists = false, list_profiles = false, quiet = false, verbose = false;
  RewriteOptions options;
};

// Flags whose value is optional, and stands behind "=".
inline constexpr const char* kFlagsWithEquals[] = {"--verify", "--explain", "--scale-weights", "--sensitivity"};

// Adds all flags and the texts of --help. Parsing fills `arguments`, which must outlive `app`.
void DeclareFlags(CLI::App& app, Arguments& arguments);

}  // namespace amp

#endif  // AMP_TOOLS_REWRITE_DECLARE_FLAGS_H_
