// The command line of amp-run.
#ifndef AMP_TOOLS_RUN_RUN_ARGUMENTS_H_
#define AMP_TOOLS_RUN_RUN_ARGUMENTS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/session.h"
#include "tools/data/data_column.h"
#include "tools/library/flag_words.h"

namespace amp {

enum class BenchMode {
  kOff,
  kLoop,      // a number of runs, and what they took altogether
  kRequests,  // as many runs as each line of stdin says, and what those took
};

struct RunArguments {
  std::string model;
  std::vector<std::pair<std::string, std::string>> input_files;  // name and file
  std::string inputs;                                            // an archive
  std::optional<uint64_t> random_seed;
  std::map<std::string, int64_t> dims;
  bool cast_inputs = false;
  std::string outputs, output_dir, compare, profile, report;  // files, a folder, a model, files
  std::vector<std::pair<std::string, std::string>> evaluate;  // input or labels, and file
  FitOptions fit;                                             // of those
  int64_t batch = 128;                                        // samples at once of those
  BenchMode bench = BenchMode::kOff;
  bool force = false;  // replace files of another kind
  bool explain = false, json = false, ulps = false, devices = false, quiet = false, verbose = false;
  int64_t iterations = 10, warmup = 2;
  std::optional<double> tolerance;  // the usual one
  DeviceChoice device;
  std::string autotune;  // a file
  SessionOptions session;
  std::string text;  // of --help or --version: to be printed, and nothing else done; else empty
};

// `arguments` without the program's name. Errors: kInvalidArgument.
absl::StatusOr<RunArguments> ParseRunArguments(const std::vector<std::string>& arguments);

}  // namespace amp

#endif  // AMP_TOOLS_RUN_RUN_ARGUMENTS_H_
