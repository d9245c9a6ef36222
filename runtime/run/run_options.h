// The options of one run, and what it reports. Part of the public header, tools/library/amp.h.
#ifndef AMP_RUNTIME_RUN_RUN_OPTIONS_H_
#define AMP_RUNTIME_RUN_RUN_OPTIONS_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "ir/base/ids.h"
#include "runtime/kernel/tensor.h"

namespace amp {

struct Node;
class NodeWitness;
using ValueId = Id<struct ValueTag>;

// A function that is called with every value of a run as soon as it is given or computed. The id is one of the
// session's model.
using ValueObserver = std::function<void(ValueId, const Datum&)>;

// A function that is asked whether a run may go on with a node on these inputs; null where one is absent. The node is
// internal to callers of the library.
using NodeGate = std::function<absl::Status(const Node&, absl::Span<const Datum* const>)>;

// When an instruction of a run began, on a clock with an arbitrary origin, and how long it took.
struct InstructionTiming {
  Id<struct NodeTag> node;
  std::chrono::nanoseconds start, duration;
};

using NamedDatums = absl::flat_hash_map<std::string, Datum>;

// The options of one run.
struct RunOptions {
  const ValueObserver* observer = nullptr;
  std::vector<InstructionTiming>* timings = nullptr;  // times are appended; null: none
  // Asked before each node but those that a device replays, on the caller's thread; an error ends the run with that
  // error. Large constants that it is shown may have lost their elements (SessionOptions::free_packed_weights). Null:
  // the run goes on.
  const NodeGate* may_go_on = nullptr;
  std::optional<uint64_t> seed = std::nullopt;  // of this run; nothing: the session's
  // Output buffers by the output's name: tensors in the memory of the session's device. At the end of the run each of
  // these outputs is copied into its buffer and returned as that tensor, so that it is never copied to the processor.
  // Inputs may lie in the same tensors: a training step overwrites the present state with the next one. A kernel may
  // write to a buffer directly once nobody reads the input in it any more. If the run fails after that, the input is
  // lost, and the error message says so.
  const NamedDatums* output_buffers = nullptr;
  // Outputs that have an output buffer but are returned in the processor's memory nevertheless.
  const absl::flat_hash_set<std::string>* shown = nullptr;
  NodeWitness* witness = nullptr;  // internal (runtime/run/node_witness.h); on the processor alone
};

// How many values a run copied from the processor's memory to a device's (in) and back (out), and their bytes.
struct CopyCounts {
  int64_t in = 0, in_bytes = 0, out = 0, out_bytes = 0;
};

}  // namespace amp

#endif  // AMP_RUNTIME_RUN_RUN_OPTIONS_H_
