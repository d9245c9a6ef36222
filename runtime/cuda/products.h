// Products of matrices on one device by cuBLASLt: chosen by its heuristics once for each shape, then kept.
//
// Matrices are row by row here and column by column there, so that y = a b is asked for as y' = b' a'. Everything is
// accumulated in float32. float32 itself is computed with its own multiplications alone, nothing emulated in 16 bits,
// and in TF32 only where that is allowed. The algorithm's own word for what it computes with is in the text that a report shows.
#ifndef AMP_RUNTIME_CUDA_PRODUCTS_H_
#define AMP_RUNTIME_CUDA_PRODUCTS_H_

#include <cuda_runtime_api.h>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>

#include "runtime/cuda/cublaslt.h"
#include "runtime/device/raw/product.h"

namespace amp::cuda {

class Products {
 public:
  explicit Products(int ordinal);
  ~Products();
  Products(const Products&) = delete;
  Products& operator=(const Products&) = delete;

  // 0, kNoProduct, or an error of CUDA. `text`: see runtime/device/raw/product.h.
  int Multiply(const device::ProductArguments& product, cudaStream_t stream, char* text);

 private:
  struct Plan;
  using Key = std::tuple<int, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int>;

  const char* OpenLibrary(char* why_not);
  Plan& PlanFor(const device::ProductArguments& product);
  // What failed, or null.
  const char* Describe(const device::ProductArguments& product, Plan& plan) const;
  const char* Choose(const device::ProductArguments& product, Plan& plan) const;

  const int ordinal_;
  std::mutex mutex_;
  const CublasLt* library_ = nullptr;
  cublasLtHandle_t handle_ = nullptr;
  void* workspace_ = nullptr;
  size_t workspace_bytes_ = 0;
  std::map<Key, std::unique_ptr<Plan>> plans_;
};

}  // namespace amp::cuda

#endif  // AMP_RUNTIME_CUDA_PRODUCTS_H_
