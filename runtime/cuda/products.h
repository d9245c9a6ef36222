// Computes matrix products on one device with cuBLASLt. Each shape's algorithm is chosen once and kept. cuBLASLt's
// heuristics choose it. After UseChoices, they only propose algorithms; the fastest one is taken and stored through the
// choices.
//
// Matrices are row-major here and column-major in cuBLASLt, so y = a b is computed as y' = b' a'. Everything is
// accumulated in float32. float32 itself is multiplied in float32, never emulated in 16 bits (BF16x9), and in TF32 only
// if that is allowed. The text for reports contains the algorithm's own statement of what it computes with.
#ifndef AMP_RUNTIME_CUDA_PRODUCTS_H_
#define AMP_RUNTIME_CUDA_PRODUCTS_H_

#include <cuda_runtime_api.h>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "runtime/cuda/cublaslt.h"
#include "runtime/device/raw/choices.h"
#include "runtime/device/raw/product.h"

namespace amp::cuda {

class Products {
 public:
  // The units that may compute 16-bit products: any, or only Tensor Cores. A product without an algorithm there is
  // refused.
  enum class Units { kAny, kTensorCores };

  explicit Products(int ordinal, Units units = Units::kAny);
  ~Products();
  Products(const Products&) = delete;
  Products& operator=(const Products&) = delete;

  void UseChoices(const device::Choices* choices);
  // Returns 0, kNoProduct, kNoLibrary, or an error of CUDA. `text`: see runtime/device/raw/product.h.
  int Multiply(const device::ProductArguments& product, cudaStream_t stream, char* text);

 private:
  struct Plan;
  using Key = std::tuple<int, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int>;

  // Returns 0, or an error with its message in `text`.
  int OpenLibrary(char* text);
  Plan& PlanFor(const device::ProductArguments& product, cudaStream_t stream);
  // The functions below return the name of what failed, or null.
  const char* Describe(const device::ProductArguments& product, Plan& plan) const;
  const char* Choose(const device::ProductArguments& product, const Key& key, cudaStream_t stream, Plan& plan) const;
  const char* Propose(const device::ProductArguments& product, Plan& plan,
                      std::vector<cublasLtMatmulHeuristicResult_t>& proposals) const;
  // Returns the arithmetic that the plan's algorithm uses; nothing: the library does not say.
  std::optional<uint64_t> FlagsOf(const Plan& plan) const;
  // Whether the algorithm computes float32 in a way that is not allowed: the library may have ignored the mask, or the
  // choice may come from a file.
  bool IsBarred(const device::ProductArguments& product, const Plan& plan) const;
  // Takes the choice stored before, and returns whether there is one that can be used. Refuses a choice that cannot.
  bool Recall(const device::ProductArguments& product, const std::string& key, Plan& plan) const;
  void PickAndKeep(const device::ProductArguments& product, const std::string& key, cudaStream_t stream, Plan& plan,
                   const std::vector<cublasLtMatmulHeuristicResult_t>& proposals) const;
  cublasStatus_t Run(const device::ProductArguments& product, cudaStream_t stream, const Plan& plan) const;
  // Returns "cublasLt 130100 NVIDIA H200 9.0 ...": everything that a choice depends on.
  std::string TextOf(const Key& key) const;

  const int ordinal_;
  const Units units_;
  std::mutex mutex_;
  const CublasLt* library_ = nullptr;
  cublasLtHandle_t handle_ = nullptr;
  void* workspace_ = nullptr;
  size_t workspace_bytes_ = 0;
  std::map<Key, std::unique_ptr<Plan>> plans_;
  const device::Choices* choices_ = nullptr;
  std::string device_text_;  // "NVIDIA H200 9.0"
};

}  // namespace amp::cuda

#endif  // AMP_RUNTIME_CUDA_PRODUCTS_H_
