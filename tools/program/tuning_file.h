// A file of the fastest algorithms of a device's libraries, so that they are timed once: --autotune FILE.
//
//   {"schema": 1, "choices": {"cublasLt 130100 NVIDIA H200 9.0 1 512 512 ...": "QgAAAAAAAAAB..."}}
//
// Each key names the operation, its shapes and types, the device and the library's version; the value is the library's
// own, in base 64.
#ifndef AMP_TOOLS_PROGRAM_TUNING_FILE_H_
#define AMP_TOOLS_PROGRAM_TUNING_FILE_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "runtime/device/raw/choices.h"

namespace amp {

class TuningFile {
 public:
  // Empty where there is no such file yet. Errors: kInvalidArgument, a file of something else; kUnavailable.
  static absl::StatusOr<std::unique_ptr<TuningFile>> Open(const std::string& path);
  TuningFile(const TuningFile&) = delete;
  TuningFile& operator=(const TuningFile&) = delete;

  // For Accelerator::UseChoices; as long as this lives.
  const device::Choices& choices() const { return choices_; }
  size_t num_added() const;
  // Lines on entries of the file that are not used, since the last call.
  std::vector<std::string> TakeWarnings();
  // Writes what is new, beside what is in the file by now; where nothing is, nothing. Errors: as above, and of writing.
  absl::Status Save();

 private:
  using Map = std::map<std::string, std::string>;  // bytes by key

  explicit TuningFile(std::string path);
  static absl::StatusOr<Map> Read(const std::string& path);

  const std::string path_;
  const device::Choices choices_;
  mutable absl::Mutex mutex_;
  Map known_ ABSL_GUARDED_BY(mutex_), added_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::string> warnings_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace amp

#endif  // AMP_TOOLS_PROGRAM_TUNING_FILE_H_
