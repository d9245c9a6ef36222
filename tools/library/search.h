// --search: which parts of a model have to stay float32 for its outputs to be within an error, at the largest saving,
// in few runs whatever the number of parts.
//
//   1. everything low is run; within the error, that is the answer
//   2. errors and bytes of every choice are predicted (tools/library/part_errors.h). The best choices by predictions
//      are those of minimum cuts, one for each price of an error, and of raising parts to float32 one by one
//   3. the first of them that is within is found by runs, by halves and predictions
//   4. raised parts are lowered again, those first that save the most bytes for their error; each try is a run. Where
//      predictions know no more of them, runs that are left go to those that save the most
//   5. the choice is run on samples that were held out; if it fails there, the next best one is
//
// Nothing is chosen that was not run, on all samples and with every rounding applied. Searched on few samples, choices
// fit these too well: the search therefore stays below 0.85 of the error. A number of the caller's own is bounded as it
// is, and no samples are held out. --verify=fix looks for what mends a rewrite in the same way, on the sample that has
// shown the difference, and below its tolerance.
#ifndef AMP_TOOLS_LIBRARY_SEARCH_H_
#define AMP_TOOLS_LIBRARY_SEARCH_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "passes/report/search_report.h"
#include "tools/library/sensitivity.h"

namespace amp {

struct FoundChoice {
  std::vector<std::string> deny;  // the nodes of the parts that stay float32
  SearchReport report;
};

// Errors: kFailedPrecondition, no choice is within, with the best one and the parts that harm most; those of
// MeasureSensitivity. REQUIRES: there are samples, and options.budget_runs is at least 2.
absl::StatusOr<FoundChoice> SearchParts(const SensitivityTask& task);

}  // namespace amp

#endif  // AMP_TOOLS_LIBRARY_SEARCH_H_
