#include "tools/library/sensitivity.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "ir/base/status.h"
#include "tools/library/part_errors.h"
#include "tools/library/sample_runs.h"

namespace amp {
namespace {

// The predictions are of this error.
constexpr auto kMetric = RewriteOptions::Metric::kRelativeL2;

UnitSensitivity SensitivityOf(const Part& part) {
  UnitSensitivity unit;
  unit.name = part.name;
  unit.nodes = part.nodes;
  unit.plain_nodes = part.plain_nodes;
  unit.weight_bytes = part.weight_bytes;
  unit.macs = part.macs;
  unit.casts = part.casts;
  unit.by_derivatives = part.by_derivatives;
  return unit;
}

// Fills the errors in, and sorts. An overflow does no harm where the outputs stay finite: that of a masked score.
void AddErrors(const PartErrors& errors, SensitivityReport& report) {
  report.predicted = std::sqrt(errors.SquaredError(errors.All()));
  const bool is_finite = std::isfinite(report.measured);
  const bool can_scale = report.predicted > 0 && is_finite && report.measured > 0;
  const double scale = can_scale ? report.measured / report.predicted : 1;
  double sum = 0;
  for (size_t i = 0; i < errors.parts().size(); ++i) {
    UnitSensitivity& unit = report.units.emplace_back(SensitivityOf(errors.parts()[i]));
    const double squared = errors.SquaredError(errors.Alone(i));
    unit.predicted = scale * std::sqrt(squared);
    unit.share = squared;
    unit.overflows = errors.parts()[i].overflows && !is_finite;
    sum += squared;
  }
  for (UnitSensitivity& unit : report.units) unit.share = sum > 0 ? unit.share / sum : 0;
  std::stable_sort(report.units.begin(), report.units.end(), [](const UnitSensitivity& a, const UnitSensitivity& b) {
    return std::pair(a.overflows, a.predicted) > std::pair(b.overflows, b.predicted);
  });
}

// The first units once more, each of them low alone.
absl::Status MeasureUnits(const SensitivityTask& task, const SampleRuns& samples, SensitivityReport& report) {
  const size_t count = std::min(report.units.size(), static_cast<size_t>(task.options.measure));
  for (size_t i = 0; i < count; ++i) {
    if (task.options.on_progress) {
      AMP_RETURN_IF_ERROR(task.options.on_progress({"measure", static_cast<int64_t>(i), static_cast<int64_t>(count)}));
    }
    SettledNodes settled = {.deny = {}, .allow = report.units[i].plain_nodes};
    for (size_t other = 0; other < report.units.size(); ++other) {
      const std::vector<std::string>& nodes = report.units[other].nodes;
      if (other != i) settled.deny.insert(settled.deny.end(), nodes.begin(), nodes.end());
    }
    AMP_ASSIGN_OR_RETURN(SettledModel alone, task.rewrite(settled));
    AMP_ASSIGN_OR_RETURN(const SampleErrors errors,
                         samples.ErrorsOf(std::move(alone.file), 0, samples.size(), kMetric));
    report.units[i].measured = errors.Largest();
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<SensitivityReport> MeasureSensitivity(const SensitivityTask& task) {
  AMP_ASSIGN_OR_RETURN(const std::unique_ptr<SampleRuns> samples, SampleRuns::Make(task.options, task.load));
  SensitivityReport report;
  report.samples = static_cast<int64_t>(samples->size());
  AMP_ASSIGN_OR_RETURN(LoadedFile all_low, task.take_all_low());
  AMP_ASSIGN_OR_RETURN(const SampleErrors sample_errors,
                       samples->ErrorsOf(std::move(all_low), 0, samples->size(), kMetric));
  report.measured = sample_errors.Largest();
  AMP_ASSIGN_OR_RETURN(const PartErrors errors, PartErrors::Find(task, *samples, sample_errors.of_samples));
  report.why_gains = errors.why_gains();
  AddErrors(errors, report);
  AMP_RETURN_IF_ERROR(MeasureUnits(task, *samples, report));
  return report;
}

}  // namespace amp
