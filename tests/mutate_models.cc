// Rewrites thousands of structurally damaged models under random flags: an error or a result, never a signal, never
// exit code 70, and one line per error.
//
//   mutate_models [--seed S] [--first K] [--mutants N] [--seconds T] [--keep DIR] [--plant K] PATH...
//
// Sources are .onnx files, golden files (.onnxtxt: their cases, with their options), folders of both, and what the tool
// makes of some of them, which carry a record. Mutant K depends on the seed, on K and on the sources alone. It is
// rewritten in a child process, so that a signal is a failure of that mutant and the others go on; what failed is kept,
// with the command that runs it again. `--plant K` aborts at mutant K, to show that a signal is seen.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ir/file/text.h"
#include "onnx/onnx_pb.h"
#include "tests/fuzz_arguments.h"
#include "tests/golden_runner.h"
#include "tests/mutate_message.h"
#include "tests/scratch_folder.h"
#include "tools/library/amp.h"
#include "tools/rewrite/amp_rewrite.h"

namespace amp {
namespace {

constexpr int kInternalError = 70;
constexpr int kMostFailures = 20;
constexpr unsigned kSecondsPerMutant = 120;

struct Source {
  std::string name, bytes;
  std::vector<std::string> flags;
  bool is_recorded = false;
};

struct Settings {
  int64_t seed = 1, first = 0, mutants = 20000, seconds = 0, plant = -1;
  std::string keep = "mutants_that_failed";
  std::vector<std::string> paths;
};

// Written by the child, read by its parent.
struct Progress {
  int64_t next = 0, tried = 0, changed = 0, failures = 0;
  std::array<int64_t, 256> exits{};
};

using Random = std::mt19937_64;

size_t Below(Random& random, size_t n) { return std::uniform_int_distribution<size_t>(0, n - 1)(random); }

std::vector<std::string> RandomFlags(Random& random, const Source& source) {
  if (source.is_recorded && Below(random, 2) == 0) return {"--policy", "float32"};
  std::vector<std::string> flags = {"--dtype", Below(random, 2) == 0 ? "float16" : "bfloat16"};
  if (!source.flags.empty() && Below(random, 2) == 0) return source.flags;
  static const std::vector<std::vector<std::string>> kChoices = {
      {"--functions", "inline", "inline-all", "keep", "specialise"},
      {"--level", "default", "treat-infer-as-deny", "tensor-cores-only", "unsafe-force-all"},
      {"--guards", "all", "constants", "none"},
      {"--opset", "auto", "keep", "13", "21", "22"},
      {"--keep-io", "all", "none"},
      {"--weights", "convert", "cast"},
      {"--preserve", "tensor", "node"},
      {"--follow", "on", "off"},
      {"--placement", "paint", "cut"},
      {"--profile", "tf-1.15", "tf-latest"},
      {"--external-data", "auto", "always", "never"},
      {"--stop-after", "infer", "classify", "casts", "weights"},
      {"--target", "any", "cpu:amx", "cuda:9.0"}};
  for (const auto& choice : kChoices) {
    if (Below(random, 4) == 0) flags.insert(flags.end(), {choice[0], choice[1 + Below(random, choice.size() - 1)]});
  }
  for (const char* flag : {"--explain", "--diff", "--freeze-initializers", "--strict"}) {
    if (Below(random, 8) == 0) flags.push_back(flag);
  }
  return flags;
}

struct Mutant {
  std::string bytes;
  std::vector<std::string> flags, edits;
  std::string source;
};

Mutant MakeMutant(const std::vector<Source>& sources, int64_t seed, int64_t number) {
  std::seed_seq sequence = {seed, number};
  Random random(sequence);
  const Source& source = sources[Below(random, sources.size())];
  Mutant mutant;
  mutant.source = source.name;
  mutant.flags = RandomFlags(random, source);
  onnx::ModelProto model;
  model.ParseFromString(source.bytes);
  for (size_t edits = 1 + (Below(random, 2) == 0 ? Below(random, 3) : 0); edits > 0; --edits) {
    mutant.edits.push_back(MutateOnce(model, random));
  }
  mutant.bytes = model.SerializeAsString();
  return mutant;
}

// Returns what is wrong with the answer, or "" when nothing is.
std::string Complaint(const ToolOutput& output) {
  if (output.exit_code == kInternalError) return absl::StrCat("exit 70: ", output.err);
  const bool is_line = absl::StartsWith(output.err, "amp-rewrite: error: ") &&
                       std::count(output.err.begin(), output.err.end(), '\n') == 1;
  return output.exit_code == 0 || is_line ? "" : absl::StrCat("not one line of error: ", output.err);
}

// Rewrites the model with the library instead of the program. Returns what is wrong with the answer, or "".
std::string ComplaintInMemory(const std::string& bytes) {
  onnx::ModelProto model;
  if (!model.ParseFromString(bytes)) return "";
  const absl::StatusOr<RewriteResult> result = Rewrite(model);
  if (result.status().code() != absl::StatusCode::kInternal) return "";
  return absl::StrCat("amp::Rewrite: ", result.status().message());
}

class Runner {
 public:
  Runner(const Settings& settings, const std::vector<Source>& sources, const ScratchFolder& folder, Progress* progress)
      : settings_(settings), sources_(sources), folder_(folder), progress_(*progress) {}

  // Mutants from progress.next on, until all are done or time is up.
  void Run(std::chrono::steady_clock::time_point end) {
    while (progress_.next < settings_.first + settings_.mutants && progress_.failures < kMostFailures) {
      if (settings_.seconds > 0 && std::chrono::steady_clock::now() > end) break;
      alarm(kSecondsPerMutant);
      const int64_t number = progress_.next;
      if (std::string complaint = Try(number); !complaint.empty()) Fail(number, complaint);
      ++progress_.next;
    }
  }

  void Fail(int64_t number, const std::string& what) {
    ++progress_.failures;
    const Mutant mutant = MakeMutant(sources_, settings_.seed, number);
    std::filesystem::create_directories(settings_.keep);
    const std::string path = absl::StrCat(settings_.keep, "/", settings_.seed, "_", number, ".onnx");
    std::ofstream(path, std::ios::binary) << mutant.bytes;
    std::cout << "FAIL mutant " << number << " of " << mutant.source << " (" << absl::StrJoin(mutant.edits, "; ")
              << "): " << what << "\n  amp-rewrite " << path << " -o out.onnx " << absl::StrJoin(mutant.flags, " ")
              << std::endl;
  }

 private:
  std::string Try(int64_t number) {
    if (number == settings_.plant) std::abort();
    const Mutant mutant = MakeMutant(sources_, settings_.seed, number);
    const std::string in = folder_.Write("in.onnx", mutant.bytes), out = folder_.File("out.onnx");
    std::vector<std::string> arguments = {in, "-o", out};
    arguments.insert(arguments.end(), mutant.flags.begin(), mutant.flags.end());
    const ToolOutput output = RunAmpRewrite(arguments);
    ++progress_.tried;
    ++progress_.exits[static_cast<uint8_t>(output.exit_code)];
    std::string complaint = Complaint(output);
    const bool has_changed = output.exit_code == 0 && absl::StrContains(output.out, "onverted") &&
                             !absl::StrContains(output.out, "the input as it is");
    if (has_changed) ++progress_.changed;
    if (complaint.empty() && has_changed && number % 4 == 0 && folder_.Has("out.onnx")) {
      const bool back = number % 8 == 0;  // taken back, or once more
      arguments = {out, "-o", folder_.File("again.onnx")};
      if (back) arguments.insert(arguments.end(), {"--policy", "float32"});
      if (!back) arguments.insert(arguments.end(), mutant.flags.begin(), mutant.flags.end());
      complaint = Complaint(RunAmpRewrite(arguments));
      if (!complaint.empty()) complaint = absl::StrCat(back ? "taken back: " : "rewritten again: ", complaint);
    }
    if (complaint.empty() && number % 4 == 1) complaint = ComplaintInMemory(mutant.bytes);
    if (number % 64 == 0) folder_.Empty();
    return complaint;
  }

  const Settings& settings_;
  const std::vector<Source>& sources_;
  const ScratchFolder& folder_;  // of the parent process, which survives
  Progress& progress_;
};

std::string Read(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void AddSources(const std::filesystem::path& path, std::vector<Source>& sources) {
  if (path.extension() == ".onnx") {
    sources.push_back({path.filename(), Read(path), {}, false});
  } else if (path.extension() == ".onnxtxt") {
    const absl::StatusOr<GoldenFile> golden = ParseGoldenFile(Read(path));
    if (!golden.ok()) return;
    for (const GoldenCase& one : golden->cases) {
      const absl::StatusOr<std::string> bytes = ParseOnnxText(one.input);
      if (bytes.ok())
        sources.push_back({absl::StrCat(path.filename().string(), ": ", one.name), *bytes, one.options, false});
    }
  }
}

// In the order of `paths`, a folder's files by name: mutants are the same wherever the folders lie.
std::vector<Source> FindSources(const std::vector<std::string>& paths) {
  std::vector<Source> sources;
  for (const std::string& path : paths) {
    std::vector<std::filesystem::path> files = {path};
    if (std::filesystem::is_directory(path)) {
      for (const auto& entry : std::filesystem::recursive_directory_iterator(path)) files.push_back(entry.path());
      std::sort(files.begin(), files.end());
    }
    for (const auto& file : files) AddSources(file, sources);
  }
  return sources;
}

// Every fourth source rewritten, with the record that takes it back.
void AddRecorded(std::vector<Source>& sources) {
  const ScratchFolder folder;
  for (size_t i = 0, size = sources.size(); i < size; i += 4) {
    const std::string in = folder.Write("in.onnx", sources[i].bytes), out = folder.File("out.onnx");
    if (RunAmpRewrite({in, "-o", out}).exit_code != 0) continue;
    sources.push_back({absl::StrCat("rewritten ", sources[i].name), folder.Read("out.onnx"), {}, true});
  }
}

std::optional<Settings> ParseArguments(const std::vector<std::string>& arguments) {
  Settings settings;
  const std::vector<std::pair<std::string, int64_t*>> numbers = {{"--seed", &settings.seed},
                                                                 {"--first", &settings.first},
                                                                 {"--mutants", &settings.mutants},
                                                                 {"--seconds", &settings.seconds},
                                                                 {"--plant", &settings.plant}};
  auto paths = ParseFuzzArguments(arguments, numbers, settings.keep);
  if (!paths.has_value()) return std::nullopt;
  settings.paths = *std::move(paths);
  return settings;
}

// Whether too many mutants were refused for the rest to mean anything.
bool IsHollow(const Progress& progress) { return progress.tried >= 1000 && progress.changed * 20 < progress.tried; }

void PrintTotals(const Progress& progress, size_t sources, double seconds) {
  std::cout << progress.tried << " mutants of " << sources << " models in " << static_cast<int>(seconds) << " s, "
            << progress.changed << " converted; exit codes";
  for (size_t code = 0; code < progress.exits.size(); ++code) {
    if (progress.exits[code] > 0) std::cout << " " << code << ": " << progress.exits[code];
  }
  std::cout << "; " << progress.failures << " failed" << std::endl;
  if (IsHollow(progress)) std::cout << "FAIL: fewer than one in twenty was converted" << std::endl;
}

int Main(const Settings& settings) {
  std::vector<Source> sources = FindSources(settings.paths);
  AddRecorded(sources);
  if (sources.empty()) return std::cout << "FAIL: no sources" << std::endl, 2;
  void* shared = mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  auto* progress = new (shared) Progress;
  progress->next = settings.first;
  const ScratchFolder folder;
  Runner runner(settings, sources, folder, progress);
  const auto start = std::chrono::steady_clock::now();
  const auto end = start + std::chrono::seconds(settings.seconds);
  for (bool is_done = false; !is_done && progress->failures < kMostFailures;) {
    const pid_t child = fork();
    if (child == 0) {
      runner.Run(end);
      std::cout.flush();
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    is_done = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    if (is_done) break;
    const std::string what = WIFSIGNALED(status)
                                 ? absl::StrCat("signal ", WTERMSIG(status), ", ", strsignal(WTERMSIG(status)))
                                 : absl::StrCat("the process ended with ", WEXITSTATUS(status));
    runner.Fail(progress->next, what);
    ++progress->next;
  }
  PrintTotals(*progress, sources.size(),
              std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  return progress->failures > 0 || IsHollow(*progress) ? 1 : 0;
}

}  // namespace
}  // namespace amp

int main(int argc, char** argv) {
  const std::optional<amp::Settings> settings = amp::ParseArguments({argv + 1, argv + argc});
  if (!settings.has_value()) {
    std::cerr << "usage: mutate_models [--seed S] [--first K] [--mutants N] [--seconds T] [--keep DIR] PATH..."
              << std::endl;
    return 2;
  }
  return amp::Main(*settings);
}
