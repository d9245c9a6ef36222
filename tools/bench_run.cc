#include "tools/bench_run.h"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "ir/base/status.h"
#include "ir/graph/graph.h"
#include "passes/record/metadata_json.h"

namespace amp {
namespace {

struct Timing {
  double median_ms = 0, min_ms = 0, p90_ms = 0;
  double items_per_second = 0;
  int64_t peak_bytes = 0;  // of the process
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

std::string AsJson(const RunArguments& arguments, const Timing& timing) {
  const nlohmann::ordered_json json = {{"model", TextOfBytes(arguments.model)},
                                       {"device", "cpu"},
                                       {"iterations", arguments.iterations},
                                       {"warmup", arguments.warmup},
                                       {"median_ms", timing.median_ms},
                                       {"min_ms", timing.min_ms},
                                       {"p90_ms", timing.p90_ms},
                                       {"items_per_second", timing.items_per_second},
                                       {"peak_bytes", timing.peak_bytes}};
  return json.dump(1) + "\n";
}

std::string AsText(const RunArguments& arguments, const Timing& timing) {
  constexpr double kMegabyte = 1e6;
  return absl::StrFormat(
      "%d runs on cpu after %d to warm up: median %.4g ms, smallest %.4g ms, 90th percentile %.4g ms; %.4g items/s; "
      "peak memory %.4g MB\n",
      arguments.iterations, arguments.warmup, timing.median_ms, timing.min_ms, timing.p90_ms, timing.items_per_second,
      static_cast<double>(timing.peak_bytes) / kMegabyte);
}

}  // namespace

absl::StatusOr<std::string> BenchRun(const RunArguments& arguments, const Session& session, const NamedDatums& inputs) {
  using Clock = std::chrono::steady_clock;
  std::vector<double> runs_ms;
  for (int64_t i = 0; i < arguments.warmup + arguments.iterations; ++i) {
    const Clock::time_point start = Clock::now();
    AMP_RETURN_IF_ERROR(session.Run(inputs).status());
    const std::chrono::duration<double, std::milli> took = Clock::now() - start;
    if (i >= arguments.warmup) runs_ms.push_back(took.count());
  }
  const Timing timing = Summarize(std::move(runs_ms), NumItems(session, inputs));
  return arguments.json ? AsJson(arguments, timing) : AsText(arguments, timing);
}

}  // namespace amp
