// How a session plans the runs of its model. Part of the public header, tools/library/amp.h.
#ifndef AMP_RUNTIME_PLAN_SESSION_OPTIONS_H_
#define AMP_RUNTIME_PLAN_SESSION_OPTIONS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/strings/string_view.h"
#include "ir/base/limits.h"

namespace amp {

class Accelerator;
class RankGroup;
struct KernelRow;

// Returns the kernels for a version of an operator, best first; the last one takes every input.
using FindKernels = std::vector<const KernelRow*> (*)(absl::string_view domain, absl::string_view op_type, int version);

struct SessionOptions {
  Limits limits;
  int64_t max_loop_iterations = 1'000'000;
  uint64_t seed = 0;  // for nodes that draw random numbers and state no seed
  // Nodes to fold and to fuse. Values inside a fusion are not rounded, except in chains.
  bool fold_constants = true, fold_batch_norms = true;
  bool fuse_epilogues = true, fuse_norms = true, fuse_attention = true, fuse_chains = true;
  bool fuse_training = true;      // false: functions of domain ai.amp that have a kernel are inlined
  int threads = 0;                // 0: as many as the process may use when the session is made
  bool allow_bfloat16 = false;    // computes float16 in bfloat16 on processors with fast arithmetic for bfloat16 alone
  bool flush_subnormals = false;  // treats subnormal numbers, which can be slow on processors, as zeros
  bool allow_tf32 = false;        // computes float32 products and convolutions on a device in TF32
  bool strict =
      false;  // refuses kernels that widen 16-bit values to float64: Create fails if the types show it, else Run
  // Frees large weights whose kernels keep them packed, and those that nothing reads once constants are folded. Packed
  // weights of 16 bits that are computed in float32 are kept in 16 bits, and each run widens them. Neither
  // Session::program() nor gates and witnesses of runs (RunOptions::may_go_on, witness) see their elements any more.
  bool free_packed_weights = true;
  RankGroup* ranks = nullptr;  // the ranks of a data-parallel run; must outlive the session; null: one rank
  // Lets a device replay the work that it did for the same shapes, instead of launching each kernel.
  bool replay = true;
  // The device runs every node that it has kernels for, the processor all others (runtime/device_run/open_device.h).
  // Null: the processor alone.
  std::shared_ptr<Accelerator> device = nullptr;
  FindKernels find_kernels = nullptr;  // internal; null: all kernels
};

}  // namespace amp

#endif  // AMP_RUNTIME_PLAN_SESSION_OPTIONS_H_
