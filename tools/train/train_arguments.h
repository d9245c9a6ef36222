// The command line of amp-train.
#ifndef AMP_TOOLS_TRAIN_TRAIN_ARGUMENTS_H_
#define AMP_TOOLS_TRAIN_TRAIN_ARGUMENTS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/session.h"
#include "tools/data/data_column.h"
#include "tools/library/flag_words.h"
#include "tools/library/trainer.h"
#include "tools/train/new_model.h"

namespace amp {

// The course of the learning rate over the whole run. kLinear, kCosine: down to 0.
enum class RateSchedule { kConstant, kLinear, kCosine };

struct TrainArguments {
  std::string model;  // a step graph
  NamedFiles data, eval_data;
  FitOptions fit;
  double validation_split = 0;  // of the samples, the last ones: to test on instead of eval_data
  int64_t patience = -1;        // epochs without a better test loss, behind which the run ends; -1: none are counted
  bool terminate_on_nan = false;
  bool allow_nan = false;  // in files of weights
  int64_t batch = 128, epochs = 1;
  bool drop_last = false;
  std::optional<uint64_t> shuffle;
  std::optional<double> learning_rate;
  RateSchedule schedule = RateSchedule::kConstant;
  std::string forward, save_weights, save_best, checkpoint, resume, log;  // files
  int64_t checkpoint_every = 0;                                           // steps; 0: epochs alone
  int64_t check_replicas = 100;                                           // steps; 0: epochs alone
  int64_t rank_timeout = 20;                                              // seconds
  bool force = false;                                                     // replace files of another kind
  bool curve = false, quiet = false, verbose = false;
  SessionOptions session;
  DeviceChoice device;         // auto: its ordinal is what was chosen, once that is so
  std::string autotune;        // a file
  bool takes_own_gpu = false;  // of several ranks each takes the GPU of its number on its machine
  std::string text;            // of --help or --version: to be printed, and nothing else done; else empty

  bool Tests() const { return !eval_data.empty() || validation_split > 0; }
};

// amp-train new KIND ...
struct NewModelArguments {
  enum class Kind { kMlp, kCnn };
  Kind kind = Kind::kMlp;
  std::vector<int64_t> layers;  // of kMlp
  ModelTask task = ModelTask::kClassification;
  std::string output;
  bool force = false;
  uint64_t seed = 0;
  std::string text;  // as above
};

Overwrite OverwriteOf(const TrainArguments& arguments);

// The flags that say what steps do, beside the step graph and the data, with their values: "--shuffle" and "none".
// `learning_rate`: that the run begins with.
std::map<std::string, std::string> StepFlags(const TrainArguments& arguments, double learning_rate);

// `arguments` without the program's name, and the second without "new". Errors: kInvalidArgument.
absl::StatusOr<TrainArguments> ParseTrainArguments(const std::vector<std::string>& arguments);
absl::StatusOr<NewModelArguments> ParseNewModelArguments(const std::vector<std::string>& arguments);

}  // namespace amp

#endif  // AMP_TOOLS_TRAIN_TRAIN_ARGUMENTS_H_
