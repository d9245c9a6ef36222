// Which parts of a model lose the most in 16 bits: what --sensitivity prints and writes.
#ifndef AMP_PASSES_REPORT_SENSITIVITY_REPORT_H_
#define AMP_PASSES_REPORT_SENSITIVITY_REPORT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace amp {

class JsonText;

// A heavy node with the light ones that are low because of it (passes/decide/find_units.h). Errors are relative L2
// errors of the output that has the largest.
struct UnitSensitivity {
  std::string name;                      // the path of the heavy node
  std::vector<std::string> nodes;        // all of its nodes
  std::vector<std::string> plain_nodes;  // those without bodies
  double predicted = 0;                  // where it alone is low
  bool by_derivatives = false;           // of the outputs; else by gains of nodes, which know less
  double share = 0;                      // of the squared error that is predicted where all units are low, from 0 to 1
  std::optional<double> measured;        // where it alone is low, as it was run
  int64_t weight_bytes = 0;              // in float32, of the constants that it reads low
  double macs = 0;                       // multiplications with additions of its heavy nodes in a run
  int64_t casts = 0;                     // beside it, where all units are low
  bool overflows = false;                // finite values were no longer finite when it rounded them
};

struct SensitivityReport {
  int64_t samples = 0;
  double measured = 0;                 // with all units low
  double predicted = 0;                // the same, before predictions were scaled to what was measured
  std::string why_gains;               // the reason why some units are not predicted by derivatives
  std::vector<UnitSensitivity> units;  // the largest predicted error first
};

// A table for people, largest error first.
std::string SensitivityText(const SensitivityReport& report);
// A line per unit below a line of names; numbers as C prints them with 17 digits.
std::string SensitivityCsv(const SensitivityReport& report);
// The object under the key "sensitivity".
void AddSensitivity(JsonText& json, const SensitivityReport& report);

}  // namespace amp

#endif  // AMP_PASSES_REPORT_SENSITIVITY_REPORT_H_
