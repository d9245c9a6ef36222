// Computes convolutions and attention on one device with cuDNN. Each shape is planned once, and its plan is kept.
// cuDNN's heuristics choose the engine. After UseChoices, they only propose engines; the fastest one is taken, and its
// name (cuDNN's for an engine and its settings) is stored through the choices. A stored engine is used only if cuDNN
// proposes it again and it may be used.
//
// All plans share one workspace, as nothing runs at the same time. When it grows, the smaller ones stay until the end,
// since work that was started, or captured for later, may still use them.
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
  // Return 0, kNotTaken, kWithoutTensorCores, or an error of CUDA. `text`: see runtime/device/raw/library_operations.h.
  int Convolve(const device::LibraryConvolution& convolution, cudaStream_t stream, char* text);
  int Attend(const device::LibraryAttention& attention, cudaStream_t stream, char* text);

 private:
  // The plan of all operations with one key, and its description; without a plan, the reason.
  struct Entry {
    std::unique_ptr<CudnnPlan> plan;
    std::string text;
  };
  using Key = std::vector<int64_t>;
  using PlanPointer = std::unique_ptr<CudnnPlan>;
  using MakePlan = std::function<PlanPointer(const CudnnWish&, CudnnFailure&)>;

  // `make_plan` plans the operation for target_.
  int Run(const Key& key, const CudnnPointers& pointers, const MakePlan& make_plan, bool is_float32,
          cudaStream_t stream, char* text);
  CudnnFailure OpenLibrary(cudaStream_t stream);
  // Returns the plan, or null and a failure. `how`: set to how its engine was chosen.
  PlanPointer PlanFor(const Key& key, const CudnnPointers& pointers, const MakePlan& make_plan, cudaStream_t stream,
                      std::string& how, CudnnFailure& failure) const;
  // Returns a plan with the engine chosen before; null: none was, or it is refused.
  PlanPointer Recall(const std::string& key, const MakePlan& make_plan) const;
  void PickAndKeep(const std::string& key, const CudnnPointers& pointers, cudaStream_t stream, CudnnPlan& plan,
                   std::string& how) const;
  int Reserve(size_t workspace_bytes);  // returns 0 or an error of CUDA
  // Returns "cudnn 91900 NVIDIA H200 9.0 ...": everything that a choice depends on.
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
