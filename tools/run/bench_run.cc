#include "tools/run/bench_run.h"

#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <ctime>
#include <istream>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "ir/base/status.h"
#include "ir/graph/graph.h"
#include "passes/record/metadata_json.h"
#include "runtime/hardware/usable_threads.h"
#include "runtime/plan/program.h"
#include "tools/run/memory_bandwidth.h"

namespace amp {
namespace {

// The time and memory of one run.
struct RunTime {
  double wall_ms = 0, cpu_ms = 0;
};

// REQUIRES: count > 0.
absl::StatusOr<RunTime> MeanRunTime(const Session& session, const NamedDatums& inputs, int64_t count) {
  using Clock = std::chrono::steady_clock;
  constexpr double kMsPerCpuTick = 1e3 / CLOCKS_PER_SEC;
  const std::clock_t cpu_start = std::clock();
  const Clock::time_point start = Clock::now();
  for (int64_t i = 0; i < count; ++i) AMP_RETURN_IF_ERROR(session.Run(inputs).status());
  const std::chrono::duration<double, std::milli> wall = Clock::now() - start;
  const double cpu_ms = static_cast<double>(std::clock() - cpu_start) * kMsPerCpuTick;
  return RunTime{wall.count() / static_cast<double>(count), cpu_ms / static_cast<double>(count)};
}

absl::Status WarmUp(const Session& session, const NamedDatums& inputs, int64_t count) {
  return count == 0 ? absl::OkStatus() : MeanRunTime(session, inputs, count).status();
}

struct Timing {
  double median_ms = 0, min_ms = 0, p90_ms = 0;
  double items_per_second = 0;
  double load_ms = 0;
  int64_t peak_bytes = 0;          // of the process
  int64_t activation_bytes = 0;    // what a run's values take at most, as planned
  int64_t largest_live_bytes = 0;  // what no plan can beat
  int64_t weight_bytes = 0;        // of all constants
  int64_t read_weight_bytes = 0;   // of those that a run reads whole
  double memory_speed = 0;         // bytes that the machine reads in a second; 0: not measured

  double ReadSpeed() const { return median_ms > 0 ? 1e3 * static_cast<double>(read_weight_bytes) / median_ms : 0; }
};

int64_t PeakBytes() {
  constexpr int64_t kKibibyte = 1024;
  rusage usage = {};
  ::getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss * kKibibyte;
}

int64_t NumItems(const Session& session, const NamedDatums& inputs) {
  if (session.inputs().empty()) return 1;
  const auto it = inputs.find(session.model().value(session.inputs()[0]).name);
  const Tensor* first = it == inputs.end() ? nullptr : it->second.tensor();
  return first == nullptr || first->rank() == 0 ? 1 : first->dim(0);
}

void AddReadConstants(const Session& session, const std::vector<Instruction>& instructions,
                      absl::flat_hash_set<const void*>& seen, int64_t& bytes) {
  for (const Instruction& instruction : instructions) {
    const bool picks = session.model().node(instruction.node).op_type() == "Gather";
    for (size_t port = picks ? 1 : 0; port < instruction.inputs.size(); ++port) {
      const ValueId input = instruction.inputs[port];
      const Tensor* const constant = input == kNone ? nullptr : session.program().constants[input].tensor();
      if (constant == nullptr || !seen.insert(constant->data()).second) continue;
      bytes += static_cast<int64_t>(constant->size_bytes());
    }
  }
}

// The constants that a run reads whole, as far as all its nodes run: not tables of which rows are picked.
int64_t ReadConstantBytes(const Session& session) {
  int64_t bytes = 0;
  absl::flat_hash_set<const void*> seen;
  for (const auto& block : session.program().blocks) AddReadConstants(session, block, seen, bytes);
  return bytes;
}

// Weights that caches hold say nothing about memory.
constexpr int64_t kLargeWeights = int64_t{64} << 20;

void MeasureMemory(const RunArguments& arguments, const Session& session, Timing& timing) {
  timing.weight_bytes = StatedConstantBytes(session.model(), session.program());
  timing.read_weight_bytes = ReadConstantBytes(session);
  if (session.DeviceName() != "cpu" || timing.read_weight_bytes < kLargeWeights) return;
  timing.memory_speed =
      MeasureReadBandwidth(arguments.session.threads > 0 ? arguments.session.threads : UsableThreads());
}

// REQUIRES: at least one run.
Timing Summarize(std::vector<double> runs_ms, int64_t num_items) {
  std::sort(runs_ms.begin(), runs_ms.end());
  const size_t n = runs_ms.size();
  Timing timing;
  timing.median_ms = (runs_ms[(n - 1) / 2] + runs_ms[n / 2]) / 2;
  timing.min_ms = runs_ms.front();
  timing.p90_ms = runs_ms[(9 * n + 9) / 10 - 1];  // the smallest that nine tenths of all do not exceed
  timing.items_per_second = timing.median_ms > 0 ? 1e3 * static_cast<double>(num_items) / timing.median_ms : 0;
  timing.peak_bytes = PeakBytes();
  return timing;
}

std::string AsJson(const RunArguments& arguments, const std::string& device, const Timing& timing) {
  nlohmann::ordered_json json = {{"model", TextOfBytes(arguments.model)},
                                 {"device", device},
                                 {"iterations", arguments.iterations},
                                 {"warmup", arguments.warmup},
                                 {"median_ms", timing.median_ms},
                                 {"min_ms", timing.min_ms},
                                 {"p90_ms", timing.p90_ms},
                                 {"items_per_second", timing.items_per_second},
                                 {"load_ms", timing.load_ms},
                                 {"peak_bytes", timing.peak_bytes},
                                 {"activation_bytes", timing.activation_bytes},
                                 {"largest_live_bytes", timing.largest_live_bytes},
                                 {"weight_bytes", timing.weight_bytes}};
  if (timing.memory_speed > 0) {
    json["read_weight_bytes"] = timing.read_weight_bytes;
    json["weight_bytes_per_second"] = timing.ReadSpeed();
    json["memory_bytes_per_second"] = timing.memory_speed;
  }
  return json.dump(1) + "\n";
}

// "; weights 325 MB, of which a run reads 247 MB at 21.3 GB/s; memory gives 24.9 GB/s".
std::string WeightsText(const Timing& timing) {
  constexpr double kMegabyte = 1e6, kGigabyte = 1e9;
  if (timing.memory_speed == 0) return "";
  return absl::StrFormat("; weights %.4g MB, of which a run reads %.4g MB at %.3g GB/s; memory gives %.3g GB/s",
                         static_cast<double>(timing.weight_bytes) / kMegabyte,
                         static_cast<double>(timing.read_weight_bytes) / kMegabyte, timing.ReadSpeed() / kGigabyte,
                         timing.memory_speed / kGigabyte);
}

std::string AsText(const RunArguments& arguments, const std::string& device, const Timing& timing) {
  constexpr double kMegabyte = 1e6;
  return absl::StrFormat(
      "%d runs on %s after %d to warm up: median %.4g ms, smallest %.4g ms, 90th percentile %.4g ms; %.4g items/s; "
      "loaded in %.4g ms; peak memory %.4g MB, activations %.4g MB%s\n",
      arguments.iterations, device, arguments.warmup, timing.median_ms, timing.min_ms, timing.p90_ms,
      timing.items_per_second, timing.load_ms, static_cast<double>(timing.peak_bytes) / kMegabyte,
      static_cast<double>(timing.activation_bytes) / kMegabyte, WeightsText(timing));
}

RunCosts CostsOf(const Session& session, std::vector<double> runs_ms) {
  const Timing timing = Summarize(std::move(runs_ms), 1);
  return {.median_ms = timing.median_ms,
          .min_ms = timing.min_ms,
          .activation_bytes = static_cast<int64_t>(session.ActivationBytes()),
          .weight_bytes = StatedConstantBytes(session.model(), session.program())};
}

std::string CostsText(const RunCosts& costs, int64_t iterations) {
  constexpr double kKilobyte = 1e3;
  return absl::StrFormat("median %.4g ms, smallest %.4g ms of %d runs; activations %.4g kB, weights %.4g kB",
                         costs.median_ms, costs.min_ms, iterations,
                         static_cast<double>(costs.activation_bytes) / kKilobyte,
                         static_cast<double>(costs.weight_bytes) / kKilobyte);
}

}  // namespace

absl::Status BenchRun(const RunArguments& arguments, const Session& session, double load_ms, const NamedDatums& inputs,
                      const ToolStreams& streams) {
  streams.show_progress("warming up");
  AMP_RETURN_IF_ERROR(WarmUp(session, inputs, arguments.warmup));
  std::vector<double> runs_ms;
  for (int64_t i = 0; i < arguments.iterations; ++i) {
    streams.show_progress(absl::StrCat("run ", i + 1, " of ", arguments.iterations));
    AMP_ASSIGN_OR_RETURN(const RunTime time, MeanRunTime(session, inputs, 1));
    runs_ms.push_back(time.wall_ms);
  }
  Timing timing = Summarize(std::move(runs_ms), NumItems(session, inputs));
  timing.load_ms = load_ms;
  timing.activation_bytes = static_cast<int64_t>(session.ActivationBytes());
  timing.largest_live_bytes = static_cast<int64_t>(session.LargestLiveBytes());
  MeasureMemory(arguments, session, timing);
  const std::string device = session.DeviceName();
  return streams.print(arguments.json ? AsJson(arguments, device, timing) : AsText(arguments, device, timing));
}

absl::StatusOr<CostsOfTwo> BenchInTurns(const RunArguments& arguments, const BenchCase& model, const BenchCase& other,
                                        const ToolStreams& streams) {
  streams.show_progress("warming up");
  const std::array<const BenchCase*, 2> cases = {&model, &other};
  std::array<std::vector<double>, 2> runs_ms;
  for (const BenchCase* const one : cases) {
    AMP_RETURN_IF_ERROR(WarmUp(one->session, one->inputs, arguments.warmup));
  }
  for (int64_t i = 0; i < arguments.iterations; ++i) {
    streams.show_progress(absl::StrCat("run ", i + 1, " of ", arguments.iterations));
    for (size_t which = 0; which < cases.size(); ++which) {
      AMP_ASSIGN_OR_RETURN(const RunTime time, MeanRunTime(cases[which]->session, cases[which]->inputs, 1));
      runs_ms[which].push_back(time.wall_ms);
    }
  }
  return CostsOfTwo{arguments.iterations, CostsOf(model.session, std::move(runs_ms[0])),
                    CostsOf(other.session, std::move(runs_ms[1]))};
}

std::string CostsOfTwo::Text() const {
  const auto times = [](double others, double models) { return models > 0 ? others / models : 1; };
  const auto bytes = [&](int64_t others, int64_t models) {
    return times(static_cast<double>(others), static_cast<double>(models));
  };
  return absl::StrFormat(
      "MODEL  %s\nOTHER  %s\nOTHER against MODEL  %.3g x the time, %.3g x the activations, %.3g x the weights\n",
      CostsText(model, iterations), CostsText(other, iterations), times(other.median_ms, model.median_ms),
      bytes(other.activation_bytes, model.activation_bytes), bytes(other.weight_bytes, model.weight_bytes));
}

absl::Status AnswerBenchRequests(const RunArguments& arguments, const Session& session, const NamedDatums& inputs,
                                 const ToolStreams& streams) {
  AMP_RETURN_IF_ERROR(WarmUp(session, inputs, arguments.warmup));
  AMP_RETURN_IF_ERROR(streams.print("ready\n"));
  std::string line;
  while (streams.requests != nullptr && std::getline(*streams.requests, line)) {
    int64_t count = 0;
    if (!absl::SimpleAtoi(line, &count) || count < 1) {
      return UsageError("--bench=stdin: expected a number of runs, found '", Escaped(line), "'");
    }
    AMP_ASSIGN_OR_RETURN(const RunTime time, MeanRunTime(session, inputs, count));
    AMP_RETURN_IF_ERROR(streams.print(absl::StrFormat("%.6g %.6g\n", time.wall_ms, time.cpu_ms)));
  }
  return absl::OkStatus();
}

}  // namespace amp
