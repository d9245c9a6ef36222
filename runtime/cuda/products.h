// Products of matrices on one device by cuBLASLt: chosen once for each shape, then kept. Its heuristics choose; with
// UseChoices they propose, and the fastest that way is taken, and remembered by whoever gave the choices.
//
// Matrices are row by row here and column by column there, so that y = a b is asked for as y' = b' a'. Everything is
// accumulated in float32. float32 itself is computed with its own multiplications alone, nothing emulated in 16 bits
// (BF16x9), and in TF32 only where that is allowed. The algorithm's own word for what it computes with is in the text that a report shows.
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
  // What 16-bit products may be computed by: anything, or else Tensor Cores alone, so that what has no algorithm there is not
  // taken.
  enum class Units { kAny, kTensorCores };

  explicit Products(int ordinal, Units units = Units::kAny);
  ~Products();
  Products(const Products&) = delete;
  Products& operator=(const Products&) = delete;

  void UseChoices(const device::Choices* choices);
  // 0, kNoProduct, kNoLibrary, or an error of CUDA. `text`: see runtime/device/raw/product.h.
  int Multiply(const device::ProductArguments& product, cudaStream_t stream, char* text);

 private:
  struct Plan;
  using Key = std::tuple<int, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int>;

  // 0, or why not in `text` and the error.
  int OpenLibrary(char* text);
  Plan& PlanFor(const device::ProductArguments& product, cudaStream_t stream);
  // What failed, or null.
  const char* Describe(const device::ProductArguments& product, Plan& plan) const;
  const char* Choose(const device::ProductArguments& product, const Key& key, cudaStream_t stream, Plan& plan) const;
  const char* Propose(const device::ProductArguments& product, Plan& plan,
                      std::vector<cublasLtMatmulHeuristicResult_t>& proposals) const;
  // What the plan's algorithm computes with; nothing: it does not say.
  std::optional<uint64_t> FlagsOf(const Plan& plan) const;
  // Whether that is no float32 of the kind that is allowed: of a library that does not keep to the mask, or in a file.
  bool IsBarred(const device::ProductArguments& product, const Plan& plan) const;
  // Whether there is a choice that is good here. One that is not is refused.
  bool Recall(const device::ProductArguments& product, const std::string& key, Plan& plan) const;
  void PickAndKeep(const device::ProductArguments& product, const std::string& key, cudaStream_t stream, Plan& plan,
                   const std::vector<cublasLtMatmulHeuristicResult_t>& proposals) const;
  cublasStatus_t Run(const device::ProductArguments& product, cudaStream_t stream, const Plan& plan) const;
  // "cublasLt 130100 NVIDIA H200 9.0 ...": all that a choice depends on.
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
