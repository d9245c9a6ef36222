// --search-log: the choices that a search has run, kept after each. A search that was ended goes on where it was.
#ifndef AMP_TOOLS_LIBRARY_SEARCH_LOG_H_
#define AMP_TOOLS_LIBRARY_SEARCH_LOG_H_

#include <map>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ir/file/model_file.h"
#include "tools/library/part_errors.h"
#include "tools/library/rewrite_options.h"
#include "tools/library/sample_runs.h"

namespace amp {

struct LoggedChoice {
  double error = 0;
  std::optional<double> held_out;
  double saved_bytes = 0;
  bool is_converted = false;
};

class SearchLog {
 public:
  // Reads the file of options.search_log, if it is there. Without that option, a log that keeps nothing. `original`:
  // the model that is searched. Errors: kInvalidArgument, the file is none of a search, or one of another search
  // (another model, other samples, another metric, or flags that rewrite in another way); kUnavailable. `options` must
  // outlive it.
  static absl::StatusOr<SearchLog> Open(const RewriteOptions& options, const LoadedFile& original,
                                        const SampleRuns& samples);

  // Null where the choice was not run.
  const LoggedChoice* Find(const LowParts& low) const;

  // Both write the file, with what other processes that are at the same search have added. Errors: those of Open;
  // kPermissionDenied.
  absl::Status Keep(const LowParts& low, const LoggedChoice& choice);
  // The caller's own number of the original. kInvalidArgument where it was another one: the rest does not hold then.
  absl::Status KeepBaseline(double baseline);

 private:
  SearchLog(const RewriteOptions& options, std::string search) : options_(&options), search_(std::move(search)) {}
  absl::Status ReadFile();
  absl::Status Read();
  absl::Status Write();

  const RewriteOptions* options_;
  std::string search_;  // tells searches apart
  std::map<LowParts, LoggedChoice> choices_;
  std::optional<double> baseline_;
};

}  // namespace amp

#endif  // AMP_TOOLS_LIBRARY_SEARCH_LOG_H_
