// The flags that say how a model runs: of amp-run, and the options of sessions in tools/c.
#ifndef AMP_TOOLS_PROGRAM_SESSION_FLAGS_H_
#define AMP_TOOLS_PROGRAM_SESSION_FLAGS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/plan/session_options.h"
#include "tools/library/flag_words.h"

namespace CLI {
class App;
}

namespace amp {

inline constexpr int kMostThreads = 4096;

// Words that need a look before they are values.
struct SessionWords {
  std::string device = "cpu";
  std::vector<std::string> no_fuse;
};

// --no-fuse without a value stands for this one.
inline constexpr char kNoFusion[] = "all";

// Parsing fills the options, the path of --autotune and the words, which must outlive `app`.
void DeclareSessionFlags(CLI::App& app, const std::string& group, SessionOptions& options, std::string& autotune,
                         SessionWords& words);

// Applies the words, after parsing, and returns the device, which is not open yet. Errors: kInvalidArgument.
absl::StatusOr<DeviceChoice> InterpretSessionWords(const SessionWords& words, SessionOptions& options);

}  // namespace amp

#endif  // AMP_TOOLS_PROGRAM_SESSION_FLAGS_H_
