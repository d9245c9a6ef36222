// Makes plans of cuDNN: a plan is an engine that computes a convolution or an attention, chosen by cuDNN's heuristics.
//
//   CudnnTarget target = {.handle = handle, .sm_version = 90};
//   CudnnFailure failure;
//   std::unique_ptr<CudnnPlan> plan = PlanConvolution(convolution, target, {}, failure);
//   failure = plan->Run(handle, PointersOf(convolution), workspace);
//
// A description of a device is enough for planning, but not for running. 16 bits are computed on Tensor Cores. Without
// them, only a bare convolution is planned, without bias and steps: fused with these, such engines are slower than
// doing the steps in a kernel of their own. Everything is accumulated in float32. float32 is computed without Tensor
// Cores, which would round it to TF32, unless that is allowed. Engines whose results differ from run to run are never
// chosen. Only cudnn_plans.cc includes cuDNN's front end, whose headers are large.
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
  std::string device;  // used without a handle: the device's properties as JSON, as cuDNN writes them
  int sm_version = 0;  // 90 for compute capability 9.0
};

// The addresses of a plan's operands, by the operands' identifiers.
using CudnnPointers = std::vector<std::pair<int64_t, void*>>;
CudnnPointers PointersOf(const device::LibraryConvolution& convolution);
CudnnPointers PointersOf(const device::LibraryAttention& attention);

// Selects among the engines that cuDNN proposes, which it orders from best to worst.
struct CudnnWish {
  size_t most_candidates = 1;
  std::string engine = {};  // only the engine with this name (CudnnPlan::engine); empty: any
};

// One or more candidates, engines with their settings. One of them is taken: the first, until Take says otherwise.
class CudnnPlan {
 public:
  virtual ~CudnnPlan() = default;
  virtual size_t num_candidates() const = 0;
  // Takes a candidate; the functions below are about it from now on. REQUIRES: candidate < num_candidates().
  virtual void Take(size_t candidate) = 0;
  virtual size_t workspace_bytes() const = 0;
  // Returns "eng41_k2=4": the engine and its settings, as cuDNN names them.
  virtual const std::string& engine() const = 0;
  // Whether cuDNN notes that the engine computes on Tensor Cores.
  virtual bool uses_tensor_cores() const = 0;
  // Starts the operation; returns the error, if any.
  virtual CudnnFailure Run(cudnnContext* handle, const CudnnPointers& pointers, void* workspace) const = 0;
};

// Returns null and sets `failure` if cuDNN has no engine for the convolution, or not the requested one, is too old, or
// has no memory. REQUIRES: OpenCudnn has opened cuDNN.
std::unique_ptr<CudnnPlan> PlanConvolution(const device::LibraryConvolution& convolution, const CudnnTarget& target,
                                           const CudnnWish& wish, CudnnFailure& failure);
// Plans attention in 16 bits, with the same errors.
std::unique_ptr<CudnnPlan> PlanAttention(const device::LibraryAttention& attention, const CudnnTarget& target,
                                         const CudnnWish& wish, CudnnFailure& failure);

}  // namespace amp::cuda

#endif  // AMP_RUNTIME_CUDA_CUDNN_PLANS_H_
