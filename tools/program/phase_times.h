// Times of a program's phases, one after another, for --verbose.
#ifndef AMP_TOOLS_PROGRAM_PHASE_TIMES_H_
#define AMP_TOOLS_PROGRAM_PHASE_TIMES_H_

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"

namespace amp {

class PhaseTimes {
 public:
  // Ends the phase that began with the end of the one before, the first with this object.
  void End(absl::string_view phase);
  double TotalMs() const;
  std::string Text() const;  // "load 12.1 ms, plan 3.4 ms"

 private:
  using Clock = std::chrono::steady_clock;

  Clock::time_point start_ = Clock::now();
  std::vector<std::pair<std::string, double>> phases_;  // with milliseconds
};

// Lines: what models run on, what the phases took, and how large copies went; empty: there were none.
std::string VerboseText(absl::string_view program, absl::string_view device, const PhaseTimes& phases,
                        absl::string_view copies);

}  // namespace amp

#endif  // AMP_TOOLS_PROGRAM_PHASE_TIMES_H_
