// Convolutions and attention on one device by cuDNN: planned once for each shape, then kept. Its heuristics choose the
// engine; with UseChoices they propose, and the fastest that way is taken, and remembered by whoever gave the choices: by
// the name that cuDNN has for an engine and its settings, so that only what it proposes again, and may be taken, is.
//
// A plan's workspace is memory that all share, as nothing runs at the same time. It grows, and what it was before stays
// until the end: what has been started, or captured for later, may still use that.
#ifndef AMP_RUNTIME_CUDA_LIBRARY_OPERATIONS_H_
#define AMP_RUNTIME_CUDA_LIBRARY_OPERATIONS_H_

#include <cuda_runtime_api.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/cuda/cudnn_plans.h"
#include "runtime/device/raw/choices.h"
#include "runtime/device/raw/library_operations.h"

namespace amp::cuda {

class LibraryOperations {
 public:
  explicit LibraryOperations(int ordinal) : ordinal_(ordinal) {}
  ~LibraryOperations();
  LibraryOperations(const LibraryOperations&) = delete;
  LibraryOperations& operator=(const LibraryOperations&) = delete;

  void UseChoices(const device::Choices* choices);
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
  using PlanPointer = std::unique_ptr<CudnnPlan>;
  using MakePlan = std::function<PlanPointer(const CudnnWish&, CudnnFailure&)>;

  // `make_plan`: of the operation, for target_.
  int Run(const Key& key, const CudnnPointers& pointers, const MakePlan& make_plan, bool is_float32,
          cudaStream_t stream, char* text);
  CudnnFailure OpenLibrary(cudaStream_t stream);
  // The plan, or why there is none. `how`: how its engine was chosen.
  PlanPointer PlanFor(const Key& key, const CudnnPointers& pointers, const MakePlan& make_plan, cudaStream_t stream,
                      std::string& how, CudnnFailure& failure) const;
  // What was chosen before; null: nothing, or it is refused.
  PlanPointer Recall(const std::string& key, const MakePlan& make_plan) const;
  void PickAndKeep(const std::string& key, const CudnnPointers& pointers, cudaStream_t stream, CudnnPlan& plan,
                   std::string& how) const;
  int Reserve(size_t workspace_bytes);  // 0 or an error of CUDA
  // "cudnn 91900 NVIDIA H200 9.0 ...": all that a choice depends on.
  std::string ChoiceKeyOf(const Key& key) const;

  const int ordinal_;
  std::mutex mutex_;
  CudnnTarget target_;
  std::vector<void*> workspaces_;  // the last one is the largest
  size_t workspace_bytes_ = 0;
  std::map<Key, Entry> plans_;
  const device::Choices* choices_ = nullptr;
  std::string device_text_;  // "NVIDIA H200 9.0"
};

}  // namespace amp::cuda

#endif  // AMP_RUNTIME_CUDA_LIBRARY_OPERATIONS_H_
