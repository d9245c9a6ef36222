// Plans of cuDNN: which of its engines computes a convolution or an attention, chosen by its heuristics.
//
//   CudnnTarget target = {.handle = handle, .sm_version = 90};
//   CudnnFailure failure;
//   std::unique_ptr<CudnnPlan> plan = PlanConvolution(convolution, target, {}, failure);
//   failure = plan->Run(handle, PointersOf(convolution), workspace);
//
// Where there is no device, its description does for choosing, not for running. 16 bits are computed on Tensor Cores:
// without them only a convolution alone is planned, as what is behind it is better done by others than slows it down.
// Everything is accumulated in float32. float32 is computed without
// Tensor Cores, which would round it to TF32, unless that is allowed. Engines whose results differ from run to run are
// never chosen. The only door to cuDNN's front end: its headers are large, and included by cudnn_plans.cc alone.
#ifndef AMP_RUNTIME_CUDA_CUDNN_PLANS_H_
#define AMP_RUNTIME_CUDA_CUDNN_PLANS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/cuda/cudnn_library.h"
#include "runtime/device/raw/library_operations.h"

namespace amp::cuda {

struct CudnnTarget {
  cudnnContext* handle = nullptr;
  std::string device;  // without a handle: its properties as JSON, as cuDNN writes them
  int sm_version = 0;  // 90 for compute capability 9.0
};

// Where a plan's operands are, each by a number of its own.
using CudnnPointers = std::vector<std::pair<int64_t, void*>>;
CudnnPointers PointersOf(const device::LibraryConvolution& convolution);
CudnnPointers PointersOf(const device::LibraryAttention& attention);

// Which of the engines that cuDNN proposes, the best in its eyes first.
struct CudnnWish {
  size_t most_candidates = 1;
  std::string engine = {};  // that one alone, by the name that a plan has given it; empty: any
};

// One or more engines with their settings, of which one is taken: the first, until Take says otherwise.
class CudnnPlan {
 public:
  virtual ~CudnnPlan() = default;
  virtual size_t num_candidates() const = 0;
  // REQUIRES: candidate < num_candidates(). All below is about it from here on.
  virtual void Take(size_t candidate) = 0;
  virtual size_t workspace_bytes() const = 0;
  // "eng41_k2=4": the engine and its settings, as cuDNN names them.
  virtual const std::string& engine() const = 0;
  // Whether the engine has the note that it computes on Tensor Cores.
  virtual bool uses_tensor_cores() const = 0;
  // Starts it; what failed.
  virtual CudnnFailure Run(cudnnContext* handle, const CudnnPointers& pointers, void* workspace) const = 0;
};

// Null, and why not: cuDNN has no engine for it, or not that one, is too old, or has no memory. REQUIRES: OpenCudnn has
// opened it.
std::unique_ptr<CudnnPlan> PlanConvolution(const device::LibraryConvolution& convolution, const CudnnTarget& target,
                                           const CudnnWish& wish, CudnnFailure& failure);
// The same for attention in 16 bits.
std::unique_ptr<CudnnPlan> PlanAttention(const device::LibraryAttention& attention, const CudnnTarget& target,
                                         const CudnnWish& wish, CudnnFailure& failure);

}  // namespace amp::cuda

#endif  // AMP_RUNTIME_CUDA_CUDNN_PLANS_H_
