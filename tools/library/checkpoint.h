// The file that a training run goes on from: an archive of arrays (.npz), which NumPy reads too.
//
//   state/dense_1.weight   float32[784,64]   every state of the step graph, by name
//   amp.checkpoint         uint8[n]          JSON: {"version": 1, "step_graph": "9f3c21d07be85a16", "steps": 1200, ...}
//
// Written through a temporary file, so that there is always a whole one. A file may come from anywhere: what is read is
// checked.
#ifndef AMP_TOOLS_LIBRARY_CHECKPOINT_H_
#define AMP_TOOLS_LIBRARY_CHECKPOINT_H_

#include <cstdint>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "runtime/values/npy.h"

namespace amp {

struct Checkpoint {
  std::string step_graph;  // hash of its file
  int64_t num_steps = 0;
  float learning_rate = 0;
  std::string note;  // whatever who writes it wants back
  NamedTensors states;
};

// Errors: kUnavailable, kPermissionDenied, naming the file.
// `force`: in place of a file that is no archive.
absl::Status WriteCheckpoint(const std::string& path, const Checkpoint& checkpoint, bool force);
// Is shown a checkpoint whose states have their names, and no tensors yet.
using CheckCheckpoint = absl::FunctionRef<absl::Status(const Checkpoint&)>;
// States are unpacked where `check` says that it is the right checkpoint. Errors: kUnavailable; kInvalidArgument, no
// checkpoint or one of another version; those of `check`; each naming the file.
absl::StatusOr<Checkpoint> ReadCheckpoint(const std::string& path, CheckCheckpoint check);

}  // namespace amp

#endif  // AMP_TOOLS_LIBRARY_CHECKPOINT_H_
