// --verify: does the rewritten model still compute what the original does? Both run on the same inputs in the executor,
// which rounds every 16-bit value where it is produced, whatever the machine has; where they differ by more than the
// tolerance, the first value that does is found, and the --deny-node that mends it is tried, not guessed.
#ifndef AMP_TOOLS_LIBRARY_VERIFY_REWRITE_H_
#define AMP_TOOLS_LIBRARY_VERIFY_REWRITE_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/session.h"
#include "tools/library/rewrite_options.h"

namespace amp {

// The relative L2 error that an output may have by default where values are float16, or bfloat16.
inline constexpr double kFloat16Tolerance = 0.02, kBfloat16Tolerance = 0.1;
constexpr double UsualTolerance(DType low) { return low == DType::kFloat16 ? kFloat16Tolerance : kBfloat16Tolerance; }

struct Verification {
  const Session& original;
  const Session& rewritten;
  const std::vector<NamedDatums>& samples;   // at least one
  std::vector<std::vector<Datum>> expected;  // what the original gives for the first samples, as far as it has run
  double tolerance = 0;                      // relative L2 error of a float output
  // The model rewritten with these nodes denied as well, and nothing else changed. Null: a mend is not sought.
  std::function<absl::StatusOr<std::unique_ptr<Session>>(const std::vector<std::string>&)> deny;
  // May be null; an error ends the verification with that error.
  std::function<absl::Status(const Progress&)> on_progress;
  // How the models run; null gates let them run to their end. Where in_time ends the search for the value that
  // diverges, or for what mends the model, only that is not told.
  RunOptions how;
  std::function<bool()> in_time;  // may be null
};

struct Verified {
  // "verified: largest relative error 0.0012, expected at most 0.02, over 3 outputs of 1 sample"
  std::string line = {};
  std::string brief = {};  // "verified: largest relative error 0.0012"
  // Where the models differ, instead of these: the output, the first value that diverges, and what mends it.
  std::string difference = {};
};
// Errors: kInvalidArgument, nothing to compare; those of running the models; those of on_progress.
absl::StatusOr<Verified> Verify(const Verification& verification);

}  // namespace amp

#endif  // AMP_TOOLS_LIBRARY_VERIFY_REWRITE_H_
