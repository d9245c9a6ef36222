// The result of a rewrite, and of taking one back.
#ifndef AMP_PASSES_REPORT_REWRITE_OUTCOME_H_
#define AMP_PASSES_REPORT_REWRITE_OUTCOME_H_

#include <memory>
#include <string>

#include "ir/graph/graph.h"
#include "passes/report/report.h"

namespace amp {

struct RewriteOutcome {
  std::unique_ptr<Model> model;  // the result if report.changed, else to be thrown away
  bool is_edited = false;        // `model` is not what was loaded, whether anything was converted or not
  Report report;                 // `model` and `profile` are the caller's to fill
  std::string diff;              // see diff_models.h
  std::string line;              // what was done, in one line
  std::string stages;            // what the stages to print showed of themselves
};

}  // namespace amp

#endif  // AMP_PASSES_REPORT_REWRITE_OUTCOME_H_
