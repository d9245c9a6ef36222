// Convolutions and attention on one device by cuDNN: planned once for each shape, then kept.
//
// A plan's workspace is memory that all share, as nothing runs at the same time. It grows, and what it was before stays
// until the end: what has been started, or captured for later, may still use that.
#ifndef AMP_RUNTIME_CUDA_LIBRARY_OPERATIONS_H_
#define AMP_RUNTIME_CUDA_LIBRARY_OPERATIONS_H_

#include <cuda_runtime_api.h>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/cuda/cudnn_plans.h"
#include "runtime/device/raw/library_operations.h"

namespace amp::cuda {

class LibraryOperations {
 public:
  explicit LibraryOperations(int ordinal) : ordinal_(ordinal) {}
  ~LibraryOperations();
  LibraryOperations(const LibraryOperations&) = delete;
  LibraryOperations& operator=(const LibraryOperations&) = delete;

  // 0, kNotTaken, kWithoutTensorCores, or an error of CUDA. `text`: see runtime/device/raw/library_operations.h.
  int Convolve(const device::LibraryConvolution& convolution, cudaStream_t stream, char* text);
  int Attend(const device::LibraryAttention& attention, cudaStream_t stream, char* text);

 private:
  // What all that is alike shares: a plan and its text, or why there is none.
  struct Entry {
    std::unique_ptr<CudnnPlan> plan;
    std::string text;
  };
  using Key = std::vector<int64_t>;

  template <typename Operation, typename MakePlan>
  int Run(const Operation& operation, MakePlan make_plan, bool is_float32, cudaStream_t stream, char* text);
  std::string OpenLibrary(cudaStream_t stream);  // why not, or nothing
  int Reserve(size_t workspace_bytes);           // 0 or an error of CUDA

  const int ordinal_;
  std::mutex mutex_;
  CudnnTarget target_;
  std::vector<void*> workspaces_;  // the last one is the largest
  size_t workspace_bytes_ = 0;
  std::map<Key, Entry> plans_;
};

}  // namespace amp::cuda

#endif  // AMP_RUNTIME_CUDA_LIBRARY_OPERATIONS_H_
