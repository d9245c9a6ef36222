// A caller's own number for a model, the larger the better: what --metric-command prints, or
// RewriteOptions::metric_function returns. The models that it judges are files in a temporary folder.
#ifndef AMP_TOOLS_LIBRARY_USER_METRIC_H_
#define AMP_TOOLS_LIBRARY_USER_METRIC_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ir/base/file_system.h"
#include "ir/file/model_file.h"
#include "tools/library/rewrite_options.h"

namespace amp {

// Stands for the path of a model in --metric-command.
inline constexpr absl::string_view kModelInCommand = "{model}";

class UserMetric {
 public:
  // REQUIRES: options.metric_command or metric_function. `options` must outlive this.
  explicit UserMetric(const RewriteOptions& options) : options_(options) {}
  ~UserMetric();
  UserMetric(const UserMetric&) = delete;
  UserMetric& operator=(const UserMetric&) = delete;

  // Returns the number of this model; of a file that has not been changed, its path is given. Errors: those of
  // metric_function and may_go_on; kInvalidArgument: the command fails, or prints no number; kResourceExhausted, it
  // takes too long; kUnavailable, there is no room for the model.
  absl::StatusOr<double> Of(const LoadedFile& file);

 private:
  // Files in a folder that go when this does.
  struct SavedModel {
    int folder;
    std::vector<std::string> names;
    ~SavedModel();
  };

  absl::Status MakeFolder();
  absl::StatusOr<double> OfPath(const std::string& path) const;

  const RewriteOptions& options_;
  std::string folder_;          // "" before it is made
  UniqueFile parent_, opened_;  // the folder that it is in, and itself
};

}  // namespace amp

#endif  // AMP_TOOLS_LIBRARY_USER_METRIC_H_
