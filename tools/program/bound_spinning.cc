#include "tools/program/bound_spinning.h"

#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"

namespace amp {
namespace {

// Looks at what is waited for, a pause of the processor between two.
constexpr const char* kSpins = "4000";
constexpr const char* kSpinsOnBusyMachine = "100";

}  // namespace

const char* SpinsFor(absl::string_view load, int processors) {
  constexpr size_t kRunning = 3;
  const std::vector<absl::string_view> words = absl::StrSplit(load, ' ');
  int running = 0;
  const bool is_known =
      words.size() > kRunning && absl::SimpleAtoi(words[kRunning].substr(0, words[kRunning].find('/')), &running);
  return is_known && running - 1 >= processors ? kSpinsOnBusyMachine : kSpins;
}

const char* SpinCount() {
  std::string load;
  std::getline(std::ifstream("/proc/loadavg"), load);
  return SpinsFor(load, static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN)));
}

void BoundSpinning() {
  if (std::getenv("OMP_WAIT_POLICY") == nullptr) ::setenv("GOMP_SPINCOUNT", SpinCount(), 0);
}

}  // namespace amp
