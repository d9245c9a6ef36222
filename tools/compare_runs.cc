#include "tools/compare_runs.h"

#include <cmath>
#include <optional>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "ir/base/status.h"
#include "ir/graph/graph.h"
#include "runtime/compare_values.h"
#include "tools/run_inputs.h"

namespace amp {
namespace {

// A run, and the first value in it that has an infinity or a NaN.
struct WatchedRun {
  std::vector<Datum> outputs;
  std::optional<ValueId> not_finite;
};

absl::StatusOr<WatchedRun> Run(const Session& session, const NamedDatums& inputs) {
  WatchedRun run;
  const ValueObserver watch = [&](ValueId value, const Datum& datum) {
    if (run.not_finite.has_value() || datum.tensor() == nullptr) return;
    if (!VisitFloats(datum.tensor()->dtype(), [](auto) {})) return;
    const bool is_finite =
        absl::c_all_of(AsDoubles(*datum.tensor()), [](double element) { return std::isfinite(element); });
    if (!is_finite) run.not_finite = value;
  };
  AMP_ASSIGN_OR_RETURN(run.outputs, session.Run(inputs, &watch));
  return run;
}

std::string DifferenceText(const ValueDifference& difference) {
  if (!difference.misfit.empty()) return difference.misfit;
  std::string text = absl::StrFormat("relative L2 error %.3g, largest error %.3g, cosine %.9g",
                                     difference.relative_error, difference.largest_error, difference.cosine);
  if (difference.new_non_finite > 0) absl::StrAppendFormat(&text, ", %d newly not finite", difference.new_non_finite);
  if (difference.unequal > 0) absl::StrAppendFormat(&text, ", %d unequal", difference.unequal);
  return absl::StrFormat("%s of %d elements", text, difference.elements);
}

bool IsWithin(const ValueDifference& difference, double tolerance) {
  return difference.misfit.empty() && difference.new_non_finite == 0 && difference.unequal == 0 &&
         difference.relative_error <= tolerance;
}

std::string NotFiniteText(const Session& session, const WatchedRun& run, absl::string_view which) {
  if (!run.not_finite.has_value()) return "";
  return absl::StrCat("first tensor of ", which,
                      " that is not finite: ", Escaped(session.model().value(*run.not_finite).name), "\n");
}

absl::StatusOr<size_t> FindOutput(const Session& session, const std::string& name) {
  for (size_t i = 0; i < session.outputs().size(); ++i) {
    if (session.model().value(session.outputs()[i]).name == name) return i;
  }
  return UsageError("expected an output '", Escaped(name), "', found none of that name");
}

}  // namespace

absl::StatusOr<RunComparison> CompareRuns(const Session& session, const Session& other, const std::string& path,
                                          const NamedDatums& inputs, double tolerance) {
  AMP_ASSIGN_OR_RETURN(const WatchedRun expected, Run(session, inputs));
  AMP_ASSIGN_OR_RETURN(const NamedDatums declared, InputsAsDeclared(inputs, other));
  const absl::StatusOr<WatchedRun> found = Run(other, declared);
  if (!found.ok()) return InFile(path, found.status());
  RunComparison comparison;
  for (size_t i = 0; i < expected.outputs.size(); ++i) {
    const std::string& name = session.model().value(session.outputs()[i]).name;
    const absl::StatusOr<size_t> output = FindOutput(other, name);
    if (!output.ok()) return InFile(path, output.status());
    const ValueDifference difference = CompareValues(expected.outputs[i], found->outputs[*output]);
    const std::string text = DifferenceText(difference);
    absl::StrAppend(&comparison.text, Escaped(name), "  ", text, "\n");
    if (IsWithin(difference, tolerance) || !comparison.verdict.empty()) continue;
    comparison.verdict = absl::StrCat("output '", Escaped(name), "': expected a relative error of at most ", tolerance,
                                      ", found ", text);
  }
  absl::StrAppend(&comparison.text, NotFiniteText(session, expected, "MODEL"), NotFiniteText(other, *found, "OTHER"));
  return comparison;
}

}  // namespace amp
