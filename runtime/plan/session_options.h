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
class Reduction;
struct KernelRow;

// The kernels for a version of an operator, best first; the last one takes everything.
using FindKernels = std::vector<const KernelRow*> (*)(absl::string_view domain, absl::string_view op_type, int version);

struct SessionOptions {
  Limits limits;
  int64_t max_loop_iterations = 1'000'000;
  uint64_t seed = 0;  // of nodes that draw random numbers and state no seed
  // What is computed together; values inside are then not rounded, but for those of chains.
  bool fold_constants = true, fold_batch_norms = true;
  bool fuse_epilogues = true, fuse_norms = true, fuse_attention = true, fuse_chains = true;
  bool fuse_training = true;      // functions of domain ai.amp that have a kernel are not inlined
  int threads = 0;                // 0: as many as the process may use
  bool allow_bfloat16 = false;    // to compute float16 in bfloat16, where the processor has arithmetic for that alone
  bool flush_subnormals = false;  // to compute with zeros instead of subnormal numbers, on which processors can be slow
  bool allow_tf32 = false;        // to compute float32 products and convolutions on a device in TF32
  bool strict =
      false;  // no kernel that widens 16-bit values to float64: an error, of Create where types tell it, or of Run
  Reduction* reduction = nullptr;  // over the ranks of a data-parallel run; must outlive the session; null: one rank
  bool replay = true;  // a device does again what it has done with these shapes, without being asked for each kernel
  // Runs what it has kernels for, all else the processor (runtime/device_run/open_device.h); null: the processor alone.
  std::shared_ptr<Accelerator> device = nullptr;
  FindKernels find_kernels = nullptr;  // internal; null: all that there are
};

}  // namespace amp

#endif  // AMP_RUNTIME_PLAN_SESSION_OPTIONS_H_
