// The JSON report of a run on a model written as text.
#ifndef AMP_TESTS_PASSES_REPORT_REPORT_OF_H_
#define AMP_TESTS_PASSES_REPORT_REPORT_OF_H_

#include <string>
#include <vector>

#include "nlohmann/json.hpp"
#include "tests/tool_run.h"

namespace amp {

inline nlohmann::ordered_json ReportOf(absl::string_view model, const std::vector<std::string>& flags = {}) {
  std::vector<std::string> all = {"--report", "-", "--quiet"};
  all.insert(all.end(), flags.begin(), flags.end());
  const ToolRun run(all, model);
  INFO(run.output.err);
  REQUIRE(run.output.exit_code == 0);
  return nlohmann::ordered_json::parse(run.output.out);
}

}  // namespace amp

#endif  // AMP_TESTS_PASSES_REPORT_REPORT_OF_H_
