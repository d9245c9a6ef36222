#include "tools/program/session_flags.h"

#include <limits>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "ir/base/status.h"
#include "runtime/session.h"
#include "tools/program/flag_values.h"

namespace amp {
namespace {

// The fusions that --no-fuse switches off; null: all.
using Fusion = bool SessionOptions::*;
const EnumNames<Fusion> kFusions = {{kNoFusion, nullptr},
                                    {"attention", &SessionOptions::fuse_attention},
                                    {"batch-norm", &SessionOptions::fold_batch_norms},
                                    {"chain", &SessionOptions::fuse_chains},
                                    {"constants", &SessionOptions::fold_constants},
                                    {"epilogue", &SessionOptions::fuse_epilogues},
                                    {"norm", &SessionOptions::fuse_norms},
                                    {"train", &SessionOptions::fuse_training}};

constexpr char kFusionNames[] = "all, attention, batch-norm, chain, constants, epilogue, norm or train";

absl::Status ApplyNoFuse(const std::vector<std::string>& lists, SessionOptions& options) {
  for (const std::string& list : lists) {
    for (const std::string& name : std::vector<std::string>(absl::StrSplit(list, ','))) {
      const absl::StatusOr<Fusion> which = ParseChoice(name, kFusions, kFusionNames);
      if (!which.ok()) return UsageError("--no-fuse: ", which.status().message());
      if (*which == nullptr) {
        options = OneByOne(options);
      } else {
        options.** which = false;
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace

void DeclareSessionFlags(CLI::App& app, const std::string& group, SessionOptions& options, std::string& autotune,
                         SessionWords& words) {
  app.add_option("--device", words.device,
                 WithDefault("where; cuda: one that cannot be used is an error; auto: what amp-rewrite --target auto "
                             "takes for the model's 16-bit type, said on stderr where that is a GPU",
                             words.device))
      ->type_name("auto|cpu|cuda[:N]")
      ->group(group);
  AddNumber(app, group, "--threads", options.threads, kMostThreads, "threads; 0: as many as the process may use");
  app.add_flag("--strict", options.strict, "refuse what computes 16-bit values in float64, for want of another kernel")
      ->group(group);
  app.add_flag("--allow-bf16-compute", options.allow_bfloat16,
               "compute float16 products in bfloat16 where the processor has arithmetic for that alone")
      ->group(group);
  app.add_flag("--allow-tf32", options.allow_tf32,
               "compute float32 products and convolutions on a GPU in TF32, which keeps 10 bits of each factor")
      ->group(group);
  app.add_flag("--flush-subnormals", options.flush_subnormals,
               "compute with zeros instead of subnormal numbers, on which some processors are slow")
      ->group(group);
  app.add_option("--no-fuse", words.no_fuse,
                 absl::StrCat(kFusionNames,
                              ": do not compute together attention, element-wise nodes in a row (chain), norms that "
                              "are written out, or products and convolutions with what comes behind them (epilogue); "
                              "not fold batch norms into what is ahead, not compute once what is constant, or run "
                              "functions of domain ai.amp node by node (train) (repeatable)"))
      ->type_name("[=WHAT[,WHAT...]]")
      ->group(group)
      ->expected(1)
      ->take_all()
      ->allow_extra_args(false);
  app.add_flag_callback(
         "--no-replay", [&options] { options.replay = false; },
         "start every kernel on a device, also in runs that it could replay")
      ->group(group);
  app.add_option(
         "--autotune", autotune,
         "time how a GPU's libraries do each product, convolution and attention, take the fastest, and keep it in "
         "this file for later")
      ->type_name("FILE.json")
      ->group(group);
  AddNumber(app, group, "--max-loop-iterations", options.max_loop_iterations, std::numeric_limits<int64_t>::max(),
            "rounds of one Loop");
}

absl::StatusOr<DeviceChoice> InterpretSessionWords(const SessionWords& words, SessionOptions& options) {
  AMP_RETURN_IF_ERROR(ApplyNoFuse(words.no_fuse, options));
  return ReadDevice(words.device);
}

}  // namespace amp
