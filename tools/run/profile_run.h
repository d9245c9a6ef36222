// Profiles a run for amp-run --profile: when each node ran, which operators took the time, and what was alive.
//
//   main graph    |-Conv-| |-------If-------|     the If ran for 17 units, 5 of which are its own: those of the nodes
//   then_branch              |-MatMul--| Add      of its body are not counted twice
#ifndef AMP_TOOLS_RUN_PROFILE_RUN_H_
#define AMP_TOOLS_RUN_PROFILE_RUN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/session.h"

namespace amp {

struct ProfiledNode {
  std::string path, op, kernel;          // op: "Conv-11"
  double start_us = 0, duration_us = 0;  // from the start of the run
  double own_us = 0;                     // without what ran inside
};

// The bytes of values that are alive while a node of the main graph runs.
struct AliveBytes {
  std::string path;
  int64_t bytes = 0;
};

struct Profile {
  std::vector<ProfiledNode> nodes;     // as they ended, those of bodies before the one that they belong to
  std::vector<AliveBytes> alive = {};  // in the order of the run; empty on a device, or where not asked for
  double run_us = 0;
};

// One run, after `warmup` others. `finds_alive`: a run more tells what is alive, if it comes to its end. Errors: those
// of a run.
absl::StatusOr<Profile> ProfileRun(const Session& session, const NamedDatums& inputs, int64_t warmup,
                                   bool finds_alive = false);

// A line per operator, the one that takes most first, and one for the run.
std::string ProfileTable(const Profile& profile);
// JSON that chrome://tracing and Perfetto show: a complete event per node, in microseconds.
std::string ProfileTrace(const Profile& profile);
// A page (tools/report/run_page.h). `model`: the path of its file.
std::string ProfilePage(const Profile& profile, const Session& session, const std::string& model);

}  // namespace amp

#endif  // AMP_TOOLS_RUN_PROFILE_RUN_H_
