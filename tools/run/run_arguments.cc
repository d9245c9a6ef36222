#include "tools/run/run_arguments.h"

#include <cmath>

#include "CLI/CLI.hpp"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "ir/base/status.h"
#include "tools/library/flag_words.h"
#include "tools/library/version.h"
#include "tools/program/command_line.h"
#include "tools/program/flag_values.h"
#include "tools/program/session_flags.h"
#include "tools/report/html_report.h"
#include "tools/run/run_outputs.h"

namespace amp {
namespace {

constexpr char kProgram[] = "amp-run";
constexpr char kPurpose[] = "Runs an ONNX model on this machine and prints or writes what comes out.\n";
constexpr char kFooter[] = R"(Examples:
  amp-run model.onnx --random-inputs                               a line per output
  amp-run model.onnx --input x=x.npy --outputs y.npz
  amp-run model.onnx --inputs sample.npz --compare mixed.onnx      how far are the two apart
  amp-run model.onnx --inputs sample.npz --compare mixed.onnx --bench    and how do time and memory differ
  amp-run model.onnx --random-inputs --dim batch=8 --bench
  amp-run model.onnx --evaluate x=x.npy --evaluate labels=labels.npy     accuracy and loss
  amp-run model.onnx --inputs sample.npz --profile trace.json      where the time goes, by operator and node

Exit codes: 0 ok, 2 usage or inputs, 3 malformed or unsupported model, 4 refused by a safety rule (a
  file that is read is not written to), 5 a limit, 6 input or output, 7 --compare found a difference, 8 no such
  device, or it fails, 70 internal error, 130 and 143 stopped by SIGINT and SIGTERM. A failure is one line.)";

const EnumNames<ResizeMode> kResizeModes = {{"bilinear", ResizeMode::kBilinear}, {"nearest", ResizeMode::kNearest}};

constexpr absl::string_view kBenchLoop = "loop";
const EnumNames<BenchMode> kBenchModes = {{std::string(kBenchLoop), BenchMode::kLoop}, {"stdin", BenchMode::kRequests}};

// Words that need a look before they are values.
struct Words {
  std::vector<std::string> inputs, dims, evaluate;
  std::string random_seed, scale;
  SessionWords session;
};

void AddRepeatable(CLI::App& app, const std::string& flag, std::vector<std::string>& values, const std::string& type,
                   const std::string& group, const std::string& help) {
  app.add_option(flag, values, help)->type_name(type)->group(group)->expected(1)->take_all()->allow_extra_args(false);
}

void DeclareInputs(CLI::App& app, RunArguments& a, Words& words) {
  const std::string group = "Inputs";
  AddRepeatable(app, "--input", words.inputs, "NAME=FILE", group,
                "an input from a file: .npy, or .pb as ONNX's test data has it (repeatable)");
  app.add_option("--inputs", a.inputs,
                 "arrays named after the inputs, as --outputs names them: y/0, y/1 are the elements of a sequence y, "
                 "y/keys and y/values a map")
      ->type_name("FILE.npz")
      ->group(group);
  app.add_option("--random-inputs", words.random_seed,
                 "make up the inputs that are given no other way, by declared type and shape [=0]")
      ->type_name("[=SEED]")
      ->group(group);
  app.add_flag("--cast-inputs", a.cast_inputs,
               "cast inputs of another width of float or integer than the model declares, and say which")
      ->group(group);
  AddRepeatable(
      app, "--dim", words.dims, "NAME=N", group,
      "a dimension of made-up inputs whose size is unknown, by its name, or input and axis: x:1=8 (repeatable). "
      "Others: 1 where they come first, else 16, or 64, 256 or 1024 where the model does not take fewer");
}

void DeclareOutputs(CLI::App& app, RunArguments& a) {
  const std::string group = "Outputs (without any of these: a line for each)";
  app.add_option("--outputs", a.outputs,
                 "write all, bfloat16 as float32; FILE.npy: the only one; other endings are refused; -: an archive to "
                 "stdout, alone")
      ->type_name("FILE.npz")
      ->group(group);
  app.add_option("--output-dir", a.output_dir, "write each as a .npy file")->type_name("DIR")->group(group);
  app.add_flag("--force", a.force, kForceHelp)->group(group);
  app.add_option("--compare", a.compare, "run this model on the same inputs, and print how far its outputs are off")
      ->type_name("OTHER.onnx")
      ->group(group);
  AddNumberAs(app, group, "--tolerance", a.tolerance, 1e30,
              "relative L2 error up to which --compare succeeds [0.02, where a model has bfloat16 values 0.1]");
  app.add_flag("--ulps", a.ulps, "print by how many units in the last place outputs are off")->group(group);
  app.add_option("--report", a.report, "write what --compare finds of outputs, and of all values on the way, as a page")
      ->type_name("FILE.html")
      ->group(group);
  app.add_flag("-q,--quiet", a.quiet, "print errors alone, and what is asked for")->group(group);
  app.add_flag("-v,--verbose", a.verbose,
               "print to stderr what models run on, and what loading, planning and running took")
      ->group(group);
}

void DeclareEvaluation(CLI::App& app, RunArguments& a, Words& words) {
  const std::string group = "How good it is on a data set";
  AddRepeatable(
      app, "--evaluate", words.evaluate, "NAME=FILE", group,
      "an input or the labels, a sample per row: .npy, .npz:KEY, or IDX, plain or in gzip; the name that is no "
      "input's is the labels', and that of the judged one of several outputs. Prints loss and accuracy, or for labels "
      "that are no classes errors (repeatable)");
  AddNumber(app, group, "--batch", a.batch, int64_t{1} << 31, "samples at once");
  app.add_option("--scale", words.scale, "multiply the inputs by this [1/255 for uint8, else 1]")
      ->type_name("X")
      ->group(group);
  AddChoice(app, group, "--resize", a.fit.resize, kResizeModes, "nearest or bilinear",
            "resize images to the input's size; gray ones are repeated for every channel");
}

void DeclareRest(CLI::App& app, RunArguments& a, Words& words) {
  const std::string group = "How it runs";
  app.add_flag("--explain", a.explain, "print which kernel runs each node, and in which types")->group(group);
  AddChoice(app, group, "--bench", a.bench, kBenchModes, "loop or stdin",
            "time runs: median, smallest, 90th percentile, and how fast weights of 64 MiB or more are read beside what "
            "memory gives; with --compare of both models, in turns; stdin: as many as each line there says, answered "
            "with the mean milliseconds of one, by the clock and of the processor");
  app.get_option("--bench")->type_name("[=stdin]");
  app.add_option(
         "--profile", a.profile,
         "time each node of a run: print the time by operator, write a Chrome trace (-: to stdout, alone), or a "
         "page with the time of nodes and the memory of values")
      ->type_name("FILE.json|FILE.html")
      ->group(group);
  AddNumber(app, group, "--iterations", a.iterations, int64_t{1'000'000}, "runs that --bench times");
  AddNumber(app, group, "--warmup", a.warmup, int64_t{1'000'000}, "runs before those");
  app.add_flag("--json", a.json, "print what --bench, --compare or --evaluate finds as JSON, and nothing else")
      ->group(group);
  DeclareSessionFlags(app, group, a.session, a.autotune, words.session);
  app.add_flag("--devices", a.devices, "print what this machine offers, and stop")->group(group);
  AddLimits(app, a.session.limits);
}

absl::Status Interpret(const Words& words, RunArguments& a) {
  AMP_ASSIGN_OR_RETURN(a.input_files, ReadNamedFiles("--input", words.inputs));
  AMP_ASSIGN_OR_RETURN(a.evaluate, ReadNamedFiles("--evaluate", words.evaluate));
  if (double scale = 0; absl::SimpleAtod(words.scale, &scale) && std::isfinite(scale)) {
    a.fit.scale = scale;
  } else if (!words.scale.empty()) {
    return UsageError("--scale: expected a number, found '", Escaped(words.scale), "'");
  }
  AMP_ASSIGN_OR_RETURN(a.dims, ReadDims(words.dims));
  if (uint64_t seed = 0; absl::SimpleAtoi(words.random_seed, &seed)) {
    a.random_seed = seed;
    a.session.seed = seed;
  } else if (!words.random_seed.empty()) {
    return UsageError("--random-inputs: expected a whole number, found '", Escaped(words.random_seed), "'");
  }
  AMP_ASSIGN_OR_RETURN(a.device, InterpretSessionWords(words.session, a.session));
  return absl::OkStatus();
}

// "-" is standard output, where one thing goes.
absl::Status CheckStandardOutput(const RunArguments& a) {
  const int taken = (a.outputs == kStandardOutput ? 1 : 0) + (a.profile == kStandardOutput ? 1 : 0);
  if (taken + (a.json ? 1 : 0) > 1) {
    return UsageError("expected one thing on stdout, found ",
                      taken == 2 ? "--profile - and --outputs -" : "- and --json");
  }
  const bool reads_requests = a.bench == BenchMode::kRequests;
  if (taken > 0 && reads_requests) return UsageError("--bench=stdin answers on stdout, which - would take");
  for (const auto& [flag, path] : {std::pair("--output-dir", &a.output_dir), {"--autotune", &a.autotune}}) {
    if (*path == kStandardOutput) {
      return UsageError(flag, ": expected a path, found '-', stdout, which it cannot write to (of that name: ./-)");
    }
  }
  return absl::OkStatus();
}

absl::Status CheckCombinations(const CLI::App& app, const RunArguments& a) {
  const auto requires_flag = [&](const char* flag, const char* other, bool is_there) {
    const bool fits = app.count(flag) == 0 || is_there;
    return fits ? absl::OkStatus() : UsageError(flag, " is for ", other, ", which is not there");
  };
  AMP_RETURN_IF_ERROR(requires_flag("--dim", "--random-inputs", a.random_seed.has_value()));
  AMP_RETURN_IF_ERROR(requires_flag("--autotune", "--device cuda", a.device.ordinal.has_value()));
  const bool may_be_gpu = a.device.is_auto || a.device.ordinal.has_value();
  AMP_RETURN_IF_ERROR(requires_flag("--allow-tf32", "--device cuda or auto", may_be_gpu));
  AMP_RETURN_IF_ERROR(requires_flag("--no-replay", "--device cuda or auto", may_be_gpu));
  AMP_RETURN_IF_ERROR(requires_flag("--tolerance", "--compare", !a.compare.empty()));
  const bool benches = a.bench != BenchMode::kOff;
  AMP_RETURN_IF_ERROR(requires_flag("--warmup", "--bench or --profile", benches || !a.profile.empty()));
  AMP_RETURN_IF_ERROR(requires_flag("--iterations", "--bench without =stdin", a.bench == BenchMode::kLoop));
  AMP_RETURN_IF_ERROR(requires_flag("--ulps", "--compare", !a.compare.empty()));
  AMP_RETURN_IF_ERROR(requires_flag("--report", "--compare", !a.compare.empty()));
  if (!a.report.empty() && !IsHtmlFile(a.report)) {
    return UsageError("--report: expected FILE.html, found '", Escaped(a.report), "'; --compare --json prints JSON");
  }
  AMP_RETURN_IF_ERROR(requires_flag("--json", "--bench without =stdin, --compare or --evaluate",
                                    a.bench == BenchMode::kLoop || !a.compare.empty() || !a.evaluate.empty()));
  if (a.json && a.explain) return UsageError("--json prints JSON and nothing else, and excludes --explain");
  AMP_RETURN_IF_ERROR(requires_flag("--batch", "--evaluate", !a.evaluate.empty()));
  AMP_RETURN_IF_ERROR(requires_flag("--scale", "--evaluate", !a.evaluate.empty()));
  AMP_RETURN_IF_ERROR(requires_flag("--resize", "--evaluate", !a.evaluate.empty()));
  for (const char* const flag : {"--compare", "--outputs", "--output-dir", "--profile"}) {
    if (a.bench == BenchMode::kRequests && app.count(flag) > 0) {
      return UsageError(flag, ": expected --bench without =stdin, found with it");
    }
  }
  for (const char* const flag : {"--input", "--inputs", "--random-inputs", "--cast-inputs", "--compare", "--bench",
                                 "--outputs", "--output-dir", "--profile", "--explain", "--autotune"}) {
    if (!a.evaluate.empty() && app.count(flag) > 0) {
      return UsageError("--evaluate runs the model on its own data, and excludes ", flag);
    }
  }
  AMP_RETURN_IF_ERROR(CheckStandardOutput(a));
  if (a.batch < 1) return UsageError("--batch: expected at least 1, found 0");
  if (a.iterations < 1) return UsageError("--iterations: expected at least 1, found 0");
  if (a.model.empty() && !a.devices) return UsageError("expected MODEL, a path to an ONNX file; see --help");
  return absl::OkStatus();
}

std::vector<std::string> FlagsWithEquals() { return {"--random-inputs", "--no-fuse", "--bench"}; }

// Flags whose value is not stated get their usual one: what follows them is none.
std::vector<std::string> WithUsualValues(std::vector<std::string> arguments) {
  for (std::string& argument : arguments) {
    if (argument == "--random-inputs") argument += "=0";
    if (argument == "--no-fuse") absl::StrAppend(&argument, "=", kNoFusion);
    if (argument == "--bench") absl::StrAppend(&argument, "=", kBenchLoop);
  }
  return arguments;
}

}  // namespace

absl::StatusOr<RunArguments> ParseRunArguments(const std::vector<std::string>& arguments) {
  RunArguments a;
  Words words;
  CLI::App app("", kProgram);
  app.description(kPurpose);
  app.footer(kFooter);
  app.set_version_flag("--version", VersionText(kProgram), "print the versions of this and of what it was built with")
      ->group("Help");
  app.get_formatter()->column_width(30);
  app.get_help_ptr()->group("Help")->description("print this and stop");
  app.add_option("MODEL", a.model, "ONNX model to run")->type_name("");
  DeclareInputs(app, a, words);
  DeclareOutputs(app, a);
  DeclareEvaluation(app, a, words);
  DeclareRest(app, a, words);
  AMP_ASSIGN_OR_RETURN(a.text, ParseCommandLine(app, WithUsualValues(arguments), WithUsualValues(FlagsWithEquals())));
  if (!a.text.empty()) return a;
  AMP_RETURN_IF_ERROR(Interpret(words, a));
  AMP_RETURN_IF_ERROR(CheckCombinations(app, a));
  return a;
}

}  // namespace amp
