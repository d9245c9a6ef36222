#include "tools/program/phase_times.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tools/program/describe_devices.h"

namespace amp {

void PhaseTimes::End(absl::string_view phase) {
  const Clock::time_point now = Clock::now();
  phases_.emplace_back(phase, std::chrono::duration<double, std::milli>(now - start_).count());
  start_ = now;
}

double PhaseTimes::TotalMs() const {
  double total_ms = 0;
  for (const auto& [phase, ms] : phases_) total_ms += ms;
  return total_ms;
}

std::string PhaseTimes::Text() const {
  std::string text;
  for (const auto& [phase, ms] : phases_) {
    absl::StrAppendFormat(&text, "%s%s %.4g ms", text.empty() ? "" : ", ", phase, ms);
  }
  return text;
}

std::string VerboseText(absl::string_view program, absl::string_view device, const PhaseTimes& phases,
                        absl::string_view copies) {
  std::string text =
      absl::StrCat(program, ": on ", device, ", ", DescribeKernels(), "\n", program, ": ", phases.Text(), "\n");
  if (!copies.empty()) absl::StrAppend(&text, program, ": ", copies, "\n");
  return text;
}

}  // namespace amp
