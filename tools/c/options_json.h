// Options of the C interface: JSON objects whose names are those of the programs' flags. They are parsed as command
// lines, so that every flag is an option, its value is checked in the same way, and its error is the same line.
#ifndef AMP_TOOLS_C_OPTIONS_JSON_H_
#define AMP_TOOLS_C_OPTIONS_JSON_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "runtime/plan/session_options.h"
#include "tools/library/flag_words.h"
#include "tools/library/rewrite_options.h"

namespace amp {

// `json` of all that follow may be null. Errors: kInvalidArgument, no JSON object, a name that is no option, with the
// one that may be meant, and what the programs say of values.
absl::StatusOr<RewriteOptions> RewriteOptionsOfJson(const char* json);

struct SessionChoices {
  SessionOptions options;
  DeviceChoice device;
  std::string autotune;  // a file
};
absl::StatusOr<SessionChoices> SessionChoicesOfJson(const char* json);

struct RandomInputChoices {
  uint64_t seed = 0;
  std::map<std::string, int64_t> dims;
};
absl::StatusOr<RandomInputChoices> RandomInputChoicesOfJson(const char* json);

// {"tolerance": 0.01}
absl::StatusOr<std::optional<double>> ToleranceOfJson(const char* json);

struct NewModelChoices {
  uint64_t seed = 0;
  std::string task;  // "" for the usual one
};
absl::StatusOr<NewModelChoices> NewModelChoicesOfJson(const char* json);

// See amp_options_schema. Errors: kInvalidArgument.
absl::StatusOr<std::string> OptionsSchema(const std::string& of);

}  // namespace amp

#endif  // AMP_TOOLS_C_OPTIONS_JSON_H_
