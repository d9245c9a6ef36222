#include "tools/train/train_arguments.h"

#include <cmath>
#include <limits>

#include "CLI/CLI.hpp"
#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "ir/base/status.h"
#include "tools/library/flag_words.h"
#include "tools/library/foreign_words.h"
#include "tools/library/version.h"
#include "tools/program/command_line.h"
#include "tools/program/flag_values.h"
#include "tools/train/new_model.h"

namespace amp {
namespace {

constexpr char kProgram[] = "amp-train";
constexpr int kMostThreads = 4096;
constexpr int64_t kMostSeconds = 86'400;
constexpr int64_t kMostBatches = int64_t{1} << 31;
constexpr char kPurpose[] =
    "Trains an ONNX model on this machine's processor or an NVIDIA GPU: runs a step graph, as amp-rewrite --train "
    "makes "
    "it, over a data set.\n'amp-train new' makes a fresh model: see amp-train new --help.\n";
constexpr char kFooter[] = R"(Examples:
  amp-train new mlp 784-64-64-10 -o m.onnx
  amp-rewrite m.onnx -o step.onnx --train --loss softmax-cross-entropy --optimizer rmsprop
  amp-train step.onnx --data x=train-images-idx3-ubyte.gz --data labels=train-labels-idx1-ubyte.gz \
      --eval-data x=t10k-images-idx3-ubyte.gz --eval-data labels=t10k-labels-idx1-ubyte.gz \
      --epochs 5 --shuffle 1 --checkpoint run.npz --forward m.onnx --save-weights trained.onnx

With mpirun -n N every rank takes its share of each batch, for a step graph made with amp-rewrite --data-parallel.
SIGINT and SIGTERM let the step end, and the checkpoint be written; --resume goes on from there.

Exit codes: 0 ok, 2 usage or data, 3 malformed or unsupported model, 4 refused by a safety rule (a file that is read is
  not written to) or weights that are not finite, 5 a limit, 6 input or output or a lost rank, 7 replicas differ or fifty
  steps in a row are skipped, 8 no such device or no MPI, 70 internal error, 130 and 143 stopped by SIGINT and SIGTERM.
A failure is one line.)";

constexpr char kNewPurpose[] = "Makes a forward model with seeded Glorot-uniform weights and zero biases.\n";
constexpr char kNewFooter[] = R"(Kinds:
  mlp SIZES   x float[batch, first size], dense layers with Relu in between, Softmax: mlp 784-64-64-10
  mlp SIZES --task regression   the same without Softmax: mlp 8-16-1; trained by amp-rewrite --train --loss mse
  cnn         x float[batch, 1, 28, 28], two convolutions with Relu and MaxPool, two dense layers, Softmax: for MNIST

Exit codes: 0 ok, 2 usage, 4 refused by a safety rule, 5 a limit, 6 input or output, 70 internal error.)";

const EnumNames<ResizeMode> kResizeModes = {{"bilinear", ResizeMode::kBilinear}, {"nearest", ResizeMode::kNearest}};
const EnumNames<ModelTask> kTasks = {{"classification", ModelTask::kClassification},
                                     {"regression", ModelTask::kRegression}};
const EnumNames<RateSchedule> kSchedules = {
    {"constant", RateSchedule::kConstant}, {"cosine", RateSchedule::kCosine}, {"linear", RateSchedule::kLinear}};

// Words that need a look before they are values.
struct Words {
  std::vector<std::string> data, eval_data;
  std::string device = "cpu", shuffle, scale, learning_rate, validation_split, patience;
};

void SetUpApp(CLI::App& app, const char* purpose, const char* footer) {
  app.description(purpose);
  app.footer(footer);
  app.set_version_flag("--version", VersionText(kProgram), "print the versions of this and of what it was built with")
      ->group("Help");
  app.get_formatter()->column_width(30);
  app.get_help_ptr()->group("Help")->description("print this and stop");
}

void AddFiles(CLI::App& app, const std::string& group, const std::string& flag, std::vector<std::string>& values,
              const std::string& help) {
  app.add_option(flag, values, help)
      ->type_name("NAME=FILE")
      ->group(group)
      ->expected(1)
      ->take_all()
      ->allow_extra_args(false);
}

void AddFile(CLI::App& app, const std::string& group, const std::string& flag, std::string& value,
             const std::string& type, const std::string& help) {
  app.add_option(flag, value, help)->type_name(type)->group(group);
}

void DeclareData(CLI::App& app, TrainArguments& a, Words& words) {
  const std::string group = "Data";
  AddFiles(app, group, "--data", words.data,
           "an input or the labels, a sample per row: .npy, .npz:KEY, or IDX, plain or in gzip (repeatable)");
  AddFiles(app, group, "--eval-data", words.eval_data, "the same to test on after each epoch (repeatable)");
  AddFile(app, group, "--validation-split", words.validation_split, "X",
          "test on this part of --data, from 0 to 1: its last samples, which are not trained on nor shuffled");
  AddFile(app, group, "--scale", words.scale, "X", "multiply the inputs by this [1/255 for uint8, else 1]");
  AddChoice(app, group, "--resize", a.fit.resize, kResizeModes, "nearest or bilinear",
            "resize images to the input's size; gray ones are repeated for every channel");
}

void DeclareLoop(CLI::App& app, TrainArguments& a, Words& words) {
  const std::string group = "Training";
  AddNumber(app, group, "--batch", a.batch, kMostBatches, "samples per step");
  app.add_flag("--drop-last", a.drop_last, "leave out the last batch of an epoch if it is smaller")->group(group);
  AddNumber(app, group, "--epochs", a.epochs, int64_t{1'000'000'000},
            "times through the data, those that --resume finds done included");
  AddFile(app, group, "--shuffle", words.shuffle, "SEED", "another order in each epoch [that of the files]");
  AddFile(app, group, "--learning-rate", words.learning_rate, "X", "[the step graph's own]");
  AddChoice(app, group, "--schedule", a.schedule, kSchedules, "constant, linear or cosine",
            "the learning rate over the whole run, linear and cosine down to 0 [constant]");
  AddFile(app, group, "--patience", words.patience, "N",
          "end the run behind so many epochs in a row without a test loss below the least");
  app.add_flag("--terminate-on-nan", a.terminate_on_nan,
               "end the run with exit code 4 where a step's loss is NaN or infinite; nothing is saved then")
      ->group(group);
  AddNumber(app, group, "--seed", a.session.seed, std::numeric_limits<uint64_t>::max(), "of Dropout and the like");
  AddNumber(app, group, "--threads", a.session.threads, kMostThreads, "threads; 0: as many as the process may use");
  AddFile(app, group, "--device", words.device, "auto|cpu|cuda[:N]",
          WithDefault(
              "where; cuda: of several ranks each takes the GPU of its number; auto: what amp-rewrite --target auto "
              "takes for the step's 16-bit type",
              words.device));
  app.add_flag("--allow-tf32", a.session.allow_tf32,
               "compute float32 products and convolutions on a GPU in TF32, which keeps 10 bits of each factor")
      ->group(group);
  app.add_flag_callback(
         "--no-replay", [&a] { a.session.replay = false; },
         "start every kernel on a GPU, also in steps that it could replay")
      ->group(group);
  AddFile(
      app, group, "--autotune", a.autotune, "FILE.json",
      "time how a GPU's libraries do each product, convolution and attention, take the fastest, and keep it in this "
      "file for later");
}

void DeclareResults(CLI::App& app, TrainArguments& a) {
  const std::string group = "Results";
  AddFile(app, group, "--save-weights", a.save_weights, "OUT.onnx", "write a forward model with the trained weights");
  AddFile(app, group, "--save-best", a.save_best, "OUT.onnx",
          "write such a model after each epoch whose test loss is the least so far");
  AddFile(app, group, "--forward", a.forward, "MODEL.onnx",
          "the forward model that is tested and saved [what the step graph does up to the logits, in float32]");
  AddFile(app, group, "--checkpoint", a.checkpoint, "FILE",
          "write all that --resume needs, after each epoch and when stopped");
  AddNumber(app, group, "--checkpoint-every", a.checkpoint_every, std::numeric_limits<int64_t>::max(),
            "and each time after so many steps; 0: not");
  AddFile(app, group, "--resume", a.resume, "FILE",
          "go on from a checkpoint of the same step graph, up to --epochs in all");
  AddFile(app, group, "--log", a.log, "FILE.csv|FILE.html",
          "write a row per epoch, or a page with curves; columns test_... are of --eval-data or --validation-split");
  app.add_flag("--force", a.force, kForceHelp)->group(group);
  app.add_flag(
         "--allow-nan", a.allow_nan,
         "write weights and checkpoints that have NaN or infinities; else that is exit code 4, and no such file is "
         "written")
      ->group(group);
  app.add_flag("--curve", a.curve, "draw the loss at the end; usual on a terminal")->group(group);
  app.add_flag("-q,--quiet", a.quiet, "print errors and warnings alone")->group(group);
  app.add_flag("-v,--verbose", a.verbose,
               "print to stderr what steps run on, and what loading, reading and training took")
      ->group(group);
}

void DeclareRanks(CLI::App& app, TrainArguments& a) {
  const std::string group = "Several processes: mpirun -n N amp-train ...";
  AddNumber(app, group, "--check-replicas", a.check_replicas, std::numeric_limits<int64_t>::max(),
            "compare scale, counter and weights of all ranks after so many steps; 0: after epochs alone");
  AddNumber(app, group, "--rank-timeout", a.rank_timeout, kMostSeconds,
            "seconds without a sign of life until a rank counts as lost");
}

absl::Status ReadNumber(const char* flag, const std::string& text, std::optional<double>& value) {
  if (text.empty()) return absl::OkStatus();
  double number = 0;
  if (!absl::SimpleAtod(text, &number) || !std::isfinite(number) || std::fabs(number) > 1e30) {
    return UsageError(flag, ": expected a number, found '", Escaped(text), "'", HintForValue(flag, text));
  }
  value = number;
  return absl::OkStatus();
}

// When a run ends, and what tells.
absl::Status ReadEnd(const Words& words, TrainArguments& a) {
  std::optional<double> split;
  AMP_RETURN_IF_ERROR(ReadNumber("--validation-split", words.validation_split, split));
  if (split.has_value() && !(*split > 0 && *split < 1)) {
    return UsageError("--validation-split: expected a number between 0 and 1, found ", *split);
  }
  a.validation_split = split.value_or(0);
  if (words.patience.empty()) return absl::OkStatus();
  if (!absl::SimpleAtoi(words.patience, &a.patience) || a.patience < 0) {
    return UsageError("--patience: expected a number of epochs, found '", Escaped(words.patience), "'");
  }
  return absl::OkStatus();
}

absl::Status Interpret(const Words& words, TrainArguments& a) {
  AMP_ASSIGN_OR_RETURN(a.data, ReadNamedFiles("--data", words.data));
  AMP_ASSIGN_OR_RETURN(a.eval_data, ReadNamedFiles("--eval-data", words.eval_data));
  AMP_RETURN_IF_ERROR(ReadNumber("--scale", words.scale, a.fit.scale));
  AMP_RETURN_IF_ERROR(ReadNumber("--learning-rate", words.learning_rate, a.learning_rate));
  if (a.learning_rate.has_value() && *a.learning_rate < 0) {
    return UsageError("--learning-rate: expected at least 0, found ", *a.learning_rate);
  }
  if (uint64_t seed = 0; absl::SimpleAtoi(words.shuffle, &seed)) {
    a.shuffle = seed;
  } else if (!words.shuffle.empty()) {
    return UsageError("--shuffle: expected a whole number, found '", Escaped(words.shuffle), "'",
                      HintForValue("--shuffle", words.shuffle));
  }
  AMP_RETURN_IF_ERROR(ReadEnd(words, a));
  AMP_ASSIGN_OR_RETURN(a.device, ReadDevice(words.device));
  a.takes_own_gpu = !absl::StrContains(words.device, ':');
  return absl::OkStatus();
}

absl::Status CheckCombinations(const TrainArguments& a) {
  if (a.model.empty()) return UsageError("expected STEP.onnx, a step graph; see --help");
  if (a.data.empty()) return UsageError("expected --data NAME=FILE for each input, found none");
  if (a.batch < 1) return UsageError("--batch: expected at least 1, found 0");
  if (a.rank_timeout < 1) return UsageError("--rank-timeout: expected at least 1, found 0");
  if (!a.autotune.empty() && !a.device.ordinal.has_value()) {
    return UsageError("--autotune is for --device cuda, which is not there");
  }
  const bool may_be_gpu = a.device.is_auto || a.device.ordinal.has_value();
  if (a.session.allow_tf32 && !may_be_gpu) {
    return UsageError("--allow-tf32 is for --device cuda or auto, which is not there");
  }
  if (!a.session.replay && !may_be_gpu) {
    return UsageError("--no-replay is for --device cuda or auto, which is not there");
  }
  if (a.checkpoint_every > 0 && a.checkpoint.empty()) {
    return UsageError("--checkpoint-every is for --checkpoint, which is not there");
  }
  if (!a.forward.empty() && a.save_weights.empty() && !a.Tests()) {
    return UsageError("--forward is for --eval-data, --validation-split or --save-weights, none of which is there");
  }
  if (a.validation_split > 0 && !a.eval_data.empty()) {
    return UsageError("--validation-split and --eval-data exclude each other");
  }
  const char* const for_tests = a.patience >= 0 ? "--patience" : !a.save_best.empty() ? "--save-best" : nullptr;
  if (for_tests != nullptr && !a.Tests()) {
    return UsageError(for_tests, " is for --validation-split or --eval-data, neither of which is there");
  }
  for (const auto& [flag, path] : {std::pair("--save-weights", &a.save_weights),
                                   {"--save-best", &a.save_best},
                                   {"--checkpoint", &a.checkpoint},
                                   {"--log", &a.log},
                                   {"--autotune", &a.autotune}}) {
    if (*path == "-") {
      return UsageError(flag, ": expected a file, found '-', stdout, where the lines of epochs go (of that name: ./-)");
    }
  }
  return absl::OkStatus();
}

template <typename Enum>
std::string NameOf(const EnumNames<Enum>& names, Enum value) {
  const auto it = absl::c_find_if(names, [&](const auto& each) { return each.second == value; });
  return it == names.end() ? "none" : it->first;
}

std::string TextOrNone(const auto& value) { return value.has_value() ? absl::StrCat(*value) : "none"; }

}  // namespace

Overwrite OverwriteOf(const TrainArguments& arguments) {
  return arguments.force ? Overwrite::kAnyKind : Overwrite::kSameKind;
}

std::map<std::string, std::string> StepFlags(const TrainArguments& a, double learning_rate) {
  std::map<std::string, std::string> flags = {{"--allow-tf32", a.session.allow_tf32 ? "on" : "off"},
                                              {"--batch", absl::StrCat(a.batch)},
                                              {"--device", a.device.ordinal.has_value() ? "cuda" : "cpu"},
                                              {"--drop-last", a.drop_last ? "on" : "off"},
                                              {"--learning-rate", absl::StrCat(learning_rate)},
                                              {"--resize", NameOf(kResizeModes, a.fit.resize)},
                                              {"--scale", TextOrNone(a.fit.scale)},
                                              {"--schedule", NameOf(kSchedules, a.schedule)},
                                              {"--seed", absl::StrCat(a.session.seed)},
                                              {"--shuffle", TextOrNone(a.shuffle)},
                                              {"--validation-split", absl::StrCat(a.validation_split)}};
  if (!a.autotune.empty()) flags["--autotune"] = "on";  // other algorithms add up in another order
  if (a.schedule != RateSchedule::kConstant) flags["--epochs"] = absl::StrCat(a.epochs);  // at which it is down to 0
  return flags;
}

absl::StatusOr<TrainArguments> ParseTrainArguments(const std::vector<std::string>& arguments) {
  TrainArguments a;
  Words words;
  CLI::App app("", kProgram);
  SetUpApp(app, kPurpose, kFooter);
  app.add_option("STEP", a.model, "step graph to run")->type_name("");
  DeclareData(app, a, words);
  DeclareLoop(app, a, words);
  DeclareResults(app, a);
  DeclareRanks(app, a);
  AddLimits(app, a.session.limits);
  if (!arguments.empty() && (arguments[0] == "mlp" || arguments[0] == "cnn")) {
    return UsageError("expected STEP.onnx, a step graph; did you mean 'amp-train new ", arguments[0], "'?");
  }
  AMP_ASSIGN_OR_RETURN(a.text, ParseCommandLine(app, arguments));
  if (!a.text.empty()) return a;
  AMP_RETURN_IF_ERROR(Interpret(words, a));
  AMP_RETURN_IF_ERROR(CheckCombinations(a));
  return a;
}

absl::StatusOr<NewModelArguments> ParseNewModelArguments(const std::vector<std::string>& arguments) {
  NewModelArguments a;
  std::string kind, layers;
  CLI::App app("", absl::StrCat(kProgram, " new"));
  SetUpApp(app, kNewPurpose, kNewFooter);
  app.add_option("KIND", kind, "mlp or cnn")->type_name("");
  app.add_option("SIZES", layers, "of mlp: inputs, hidden layers, classes or targets")->type_name("");
  AddChoice(app, "Output", "--task", a.task, kTasks, "classification or regression",
            "of mlp: classes, with a Softmax at the end, or numbers, without one, for amp-rewrite --loss mse "
            "[classification]");
  app.add_option("-o,--output", a.output, "write the model here")->type_name("OUT.onnx")->group("Output");
  app.add_flag("--force", a.force, kForceHelp)->group("Output");
  AddNumber(app, "Output", "--seed", a.seed, std::numeric_limits<uint64_t>::max(), "of the weights");
  AMP_ASSIGN_OR_RETURN(a.text, ParseCommandLine(app, arguments));
  if (!a.text.empty()) return a;
  if (kind != "mlp" && kind != "cnn") return UsageError("new: expected mlp SIZES or cnn, found '", Escaped(kind), "'");
  if (a.output.empty()) return UsageError("new: expected -o OUT.onnx, found none");
  if (kind == "cnn") {
    a.kind = NewModelArguments::Kind::kCnn;
    if (a.task != ModelTask::kClassification) return UsageError("new: cnn is for --task classification alone");
    if (!layers.empty()) return UsageError("new: cnn has no sizes, found '", Escaped(layers), "'");
    return a;
  }
  AMP_ASSIGN_OR_RETURN(a.layers, ParseLayers(layers));
  return a;
}

}  // namespace amp
