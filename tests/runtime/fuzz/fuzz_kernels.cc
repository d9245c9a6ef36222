// Runs thousands of edited small models twice through all kernels and once through the reference kernels: no signal, no
// hang, the same from run to run, and what the reference gives, or an error from both.
//
//   fuzz_kernels [--seed S] [--first K] [--cases N] [--seconds T] [--keep DIR] [--plant K] KERNELS.txt
//
// Case K depends on the seed, on K and on the file alone. It runs in a child process, so that a signal is a failure of
// that case and the others go on; what failed is kept as a model and its inputs. `--plant K` aborts at case K, to show
// that a signal is seen.
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/kernel/parallel_for.h"
#include "runtime/reference/reference_kernels.h"
#include "tests/fuzz_arguments.h"
#include "tests/runtime/fuzz/mutate_case.h"
#include "tests/runtime/session_text.h"

namespace amp {
namespace {

constexpr int kMostFailures = 20;
constexpr unsigned kSecondsPerCase = 30;
constexpr rlim_t kMemoryBytes = rlim_t{3} << 30;
constexpr int64_t kMostRounds = 1000;  // of a loop
constexpr int kThreads = 2;            // that share out the smallest work, too

struct Settings {
  int64_t seed = 1, first = 0, cases = 1'000'000'000, seconds = 0, plant = -1;
  std::string keep = "kernel_cases_that_failed", path;
};

// Written by the child, read by its parent.
struct Progress {
  int64_t next = 0, tried = 0, ran = 0, failures = 0;
};

struct Edited {
  KernelCase model;
  std::string source;
  std::vector<std::string> edits;
};

Edited MakeCase(const std::vector<std::pair<std::string, KernelCase>>& sources, int64_t seed, int64_t number) {
  std::seed_seq sequence = {seed, number};
  std::mt19937_64 random(sequence);
  const auto& [source, model] = sources[static_cast<size_t>(number) % sources.size()];
  Edited edited = {.model = model, .source = source, .edits = {}};
  for (size_t edits = 1 + random() % 4; edits > 0; --edits) {
    std::string edit = MutateCase(edited.model, random);
    if (!edit.empty()) edited.edits.push_back(std::move(edit));
  }
  return edited;
}

// ---- one case

struct Outcome {
  absl::Status status;
  std::vector<Datum> first, second;
};

Outcome RunWith(const Edited& edited, const SessionOptions& options, bool runs_twice) {
  Outcome outcome;
  absl::StatusOr<LoadedFile> file = ParseModel(edited.model.model.SerializeAsString());
  absl::Status valid = file.status();
  if (valid.ok()) valid = ValidateFile(*file, options.limits);
  if (!valid.ok()) return {.status = valid, .first = {}, .second = {}};
  absl::StatusOr<std::unique_ptr<Session>> session = Session::Create(*std::move(file), options);
  if (!session.ok()) return {.status = session.status(), .first = {}, .second = {}};
  const NamedDatums inputs(edited.model.values.begin(), edited.model.values.end());
  for (std::vector<Datum>* outputs : {&outcome.first, &outcome.second}) {
    if (outputs == &outcome.second && !runs_twice) break;
    absl::StatusOr<std::vector<Datum>> found = (*session)->Run(inputs);
    if (!found.ok()) return {.status = found.status(), .first = {}, .second = {}};
    *outputs = *std::move(found);
  }
  return outcome;
}

// Returns the tolerance for float32 arithmetic against float64, with roundings to `dtype` on the way.
double ToleranceOf(DType dtype) {
  if (dtype == DType::kFloat16) return 4e-3;
  if (dtype == DType::kBfloat16) return 3e-2;
  return 2e-4;
}

// Returns the tolerance of the least exact type in the case, on the way or at the end. It is infinite where floats
// become integers, since a number that is a hair below a whole one is cut to the one before.
double ToleranceOf(const KernelCase& each) {
  double tolerance = ToleranceOf(DType::kFloat32);
  const auto consider = [&](int64_t dtype) { tolerance = std::max(tolerance, ToleranceOf(static_cast<DType>(dtype))); };
  for (const auto& [name, tensor] : each.values) consider(static_cast<int64_t>(tensor.dtype()));
  for (const auto& tensor : each.model.graph().initializer()) consider(tensor.data_type());
  for (const auto& node : each.model.graph().node()) {
    for (const auto& attribute : node.attribute()) {
      if (attribute.name() != "to") continue;
      consider(attribute.i());
      if (!VisitFloats(static_cast<DType>(attribute.i()), [](auto) {})) return std::numeric_limits<double>::infinity();
    }
  }
  return tolerance;
}

struct Allowed {
  double tolerance = 0;             // relative to the largest element
  std::vector<double> spread = {};  // absolute, by output; none where empty
  // Elements that are infinite or NaN may differ: a library does not multiply what lies in the padding, and float32
  // overflows where float64 does not.
  bool non_finite = false;
};

std::string CompareNumbers(const Tensor& found, const Tensor& expected, const Allowed& allowed, double spread) {
  const absl::StatusOr<std::vector<double>> a = ReadDoubles(found), b = ReadDoubles(expected);
  if (!a.ok() || !b.ok() || std::isinf(allowed.tolerance)) return "";
  double largest = 0;
  for (const double x : *b) largest = std::max(largest, std::isfinite(x) ? std::fabs(x) : 0);
  const double distance = allowed.tolerance * largest + spread;
  for (size_t i = 0; i < a->size(); ++i) {
    const double x = (*a)[i], y = (*b)[i];
    if (x == y || (std::isnan(x) && std::isnan(y)) || std::fabs(x - y) <= distance) continue;
    if (allowed.non_finite && !(std::isfinite(x) && std::isfinite(y))) continue;
    return absl::StrCat(found.TypeText(), " element ", i, ": found ", x, ", expected ", y);
  }
  return "";
}

std::string Compare(const std::vector<Datum>& found, const std::vector<Datum>& expected, const Allowed& allowed) {
  for (size_t i = 0; i < expected.size(); ++i) {
    const Tensor *a = found[i].tensor(), *b = expected[i].tensor();
    if ((a == nullptr) != (b == nullptr)) return absl::StrCat("output ", i, ": another kind");
    if (a == nullptr || b == nullptr) continue;
    if (a->dtype() != b->dtype() || a->dims() != b->dims()) {
      return absl::StrCat("output ", i, ": found ", a->TypeText(), ", expected ", b->TypeText());
    }
    const std::string difference = CompareNumbers(*a, *b, allowed, allowed.spread.empty() ? 0 : allowed.spread[i]);
    if (!difference.empty()) return absl::StrCat("output ", i, ": ", difference);
  }
  return "";
}

// Returns, for each output, how far the reference's elements move at most when its inputs are off by a rounding, times
// four for the roundings on the way. Values that a Softmax behind them keeps apart are not known any better than that.
std::vector<double> SpreadOf(const Edited& edited, const SessionOptions& options, const std::vector<Datum>& expected) {
  constexpr int kRuns = 6;
  std::mt19937_64 random(1);
  std::vector<double> spread(expected.size(), 0);
  for (int run = 0; run < kRuns; ++run) {
    const Edited nudged = {.model = Nudge(edited.model, random), .source = "", .edits = {}};
    const Outcome outcome = RunWith(nudged, options, false);
    if (!outcome.status.ok()) continue;
    for (size_t i = 0; i < expected.size(); ++i) {
      const Tensor *a = outcome.first[i].tensor(), *b = expected[i].tensor();
      if (a == nullptr || b == nullptr || a->dims() != b->dims()) continue;
      const absl::StatusOr<std::vector<double>> x = ReadDoubles(*a), y = ReadDoubles(*b);
      if (!x.ok() || !y.ok()) continue;
      for (size_t k = 0; k < x->size(); ++k) {
        const double distance = std::fabs((*x)[k] - (*y)[k]);
        if (std::isfinite(distance)) spread[i] = std::max(spread[i], 4 * distance);
      }
    }
  }
  return spread;
}

bool IsLimit(const absl::Status& status) { return status.code() == absl::StatusCode::kResourceExhausted; }

// Returns what is wrong with the case, or "" when nothing is.
std::string Complaint(const Edited& edited, bool* ran) {
  const Outcome found = RunWith(edited, {.limits = {}, .max_loop_iterations = kMostRounds, .threads = kThreads}, true);
  const SessionOptions reference =
      OneByOne({.limits = {}, .max_loop_iterations = kMostRounds, .find_kernels = FindReferenceKernels});
  const Outcome expected = RunWith(edited, reference, false);
  for (const absl::Status& status : {found.status, expected.status}) {
    if (status.code() == absl::StatusCode::kInternal) return absl::StrCat("internal: ", status.message());
  }
  if (IsLimit(found.status) || IsLimit(expected.status)) return "";
  if (found.status.ok() != expected.status.ok()) {
    return absl::StrCat("found ", found.status.ToString(), ", expected ", expected.status.ToString());
  }
  if (!found.status.ok()) return "";
  *ran = true;
  std::string difference = Compare(found.second, found.first, {});
  if (!difference.empty()) return absl::StrCat("the second run: ", difference);
  Allowed allowed = {.tolerance = ToleranceOf(edited.model), .non_finite = edited.model.has_non_finite};
  difference = Compare(found.first, expected.first, allowed);
  if (difference.empty()) return "";
  allowed.spread = SpreadOf(edited, reference, expected.first);
  return Compare(found.first, expected.first, allowed);
}

// ---- all of them

class Runner {
 public:
  Runner(const Settings& settings, const std::vector<std::pair<std::string, KernelCase>>& sources, Progress* progress)
      : settings_(settings), sources_(sources), progress_(*progress) {}

  void Run(std::chrono::steady_clock::time_point end) {
    while (progress_.next < settings_.first + settings_.cases && progress_.failures < kMostFailures) {
      if (settings_.seconds > 0 && std::chrono::steady_clock::now() > end) break;
      alarm(kSecondsPerCase);
      if (progress_.next == settings_.plant) std::abort();
      bool ran = false;
      const std::string complaint = Complaint(MakeCase(sources_, settings_.seed, progress_.next), &ran);
      if (!complaint.empty()) Fail(complaint);
      ++progress_.tried;
      progress_.ran += ran ? 1 : 0;
      ++progress_.next;
    }
  }

  void Fail(const std::string& what) {
    ++progress_.failures;
    const Edited edited = MakeCase(sources_, settings_.seed, progress_.next);
    std::filesystem::create_directories(settings_.keep);
    const std::string path = absl::StrCat(settings_.keep, "/", settings_.seed, "_", progress_.next);
    std::ofstream(path + ".onnx", std::ios::binary) << edited.model.model.SerializeAsString();
    if (const absl::StatusOr<std::string> bytes = NpzBytes(edited.model.values); bytes.ok()) {
      std::ofstream(path + ".npz", std::ios::binary) << *bytes;
    }
    std::vector<std::string> types;
    for (const auto& [name, tensor] : edited.model.values) types.push_back(absl::StrCat(name, " ", tensor.TypeText()));
    std::cout << "FAIL case " << progress_.next << ": " << what << "\n  " << edited.source
              << "\n  edits: " << absl::StrJoin(edited.edits, "; ") << "\n  values: " << absl::StrJoin(types, ", ")
              << "\n  kept as " << path << ".onnx" << std::endl;
  }

 private:
  const Settings& settings_;
  const std::vector<std::pair<std::string, KernelCase>>& sources_;
  Progress& progress_;
};

// Errors: the line that is no graph.
absl::StatusOr<std::vector<std::pair<std::string, KernelCase>>> ReadSources(const std::string& path) {
  std::vector<std::pair<std::string, KernelCase>> sources;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#') continue;
    absl::StatusOr<KernelCase> parsed = ParseKernelCase(line);
    if (!parsed.ok()) return absl::Status(parsed.status().code(), absl::StrCat(line, ": ", parsed.status().message()));
    sources.emplace_back(line, *std::move(parsed));
  }
  return sources;
}

// As they are, all must run: else editing them means nothing.
int CheckSources(const std::vector<std::pair<std::string, KernelCase>>& sources) {
  int failures = 0;
  for (const auto& [source, model] : sources) {
    bool ran = false;
    const Edited plain = {.model = model, .source = source, .edits = {}};
    std::string complaint = Complaint(plain, &ran);
    if (complaint.empty() && !ran) complaint = std::string(RunWith(plain, {}, false).status.message());
    if (complaint.empty()) continue;
    std::cout << "FAIL " << source << ": " << complaint << std::endl;
    ++failures;
  }
  return failures;
}

std::optional<Settings> ParseArguments(const std::vector<std::string>& arguments) {
  Settings settings;
  const std::vector<std::pair<std::string, int64_t*>> numbers = {{"--seed", &settings.seed},
                                                                 {"--first", &settings.first},
                                                                 {"--cases", &settings.cases},
                                                                 {"--seconds", &settings.seconds},
                                                                 {"--plant", &settings.plant}};
  auto paths = ParseFuzzArguments(arguments, numbers, settings.keep);
  if (!paths.has_value()) return std::nullopt;
  settings.path = paths->back();
  return settings;
}

int Main(const Settings& settings) {
  const auto sources = ReadSources(settings.path);
  if (!sources.ok() || sources->empty()) return std::cout << "FAIL: " << sources.status() << std::endl, 2;
  const rlimit limit = {kMemoryBytes, kMemoryBytes};
  setrlimit(RLIMIT_AS, &limit);
  void* shared = mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  auto* progress = new (shared) Progress;
  progress->next = settings.first;
  ShareSmallWork(true);
  Runner runner(settings, *sources, progress);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(settings.seconds);
  for (bool is_done = false; !is_done && progress->failures < kMostFailures;) {
    const pid_t child = fork();
    if (child == 0) {
      if (progress->tried == 0) progress->failures += CheckSources(*sources);
      runner.Run(end);
      std::cout.flush();
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    is_done = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    if (is_done) break;
    runner.Fail(WIFSIGNALED(status) ? absl::StrCat("signal ", WTERMSIG(status), ", ", strsignal(WTERMSIG(status)))
                                    : absl::StrCat("the process ended with ", WEXITSTATUS(status)));
    ++progress->next;
  }
  std::cout << progress->tried << " cases of " << sources->size() << " models, " << progress->ran << " ran; "
            << progress->failures << " failed" << std::endl;
  const bool is_hollow = progress->tried >= 1000 && progress->ran * 5 < progress->tried;
  if (is_hollow) std::cout << "FAIL: fewer than one in five ran" << std::endl;
  return progress->failures > 0 || is_hollow ? 1 : 0;
}

}  // namespace
}  // namespace amp

int main(int argc, char** argv) {
  const std::optional<amp::Settings> settings = amp::ParseArguments({argv + 1, argv + argc});
  if (!settings.has_value()) {
    std::cerr << "usage: fuzz_kernels [--seed S] [--first K] [--cases N] [--seconds T] [--keep DIR] KERNELS.txt"
              << std::endl;
    return 2;
  }
  return amp::Main(*settings);
}
