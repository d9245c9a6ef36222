// Opens cuBLASLt when the first product is computed; nothing else needs it.
#ifndef AMP_RUNTIME_CUDA_CUBLASLT_H_
#define AMP_RUNTIME_CUDA_CUBLASLT_H_

#include <cublasLt.h>

namespace amp::cuda {

// Pointers to the functions of cuBLASLt that are called.
struct CublasLt {
  decltype(&cublasLtCreate) create = nullptr;
  decltype(&cublasLtDestroy) destroy = nullptr;
  decltype(&cublasLtGetVersion) get_version = nullptr;
  decltype(&cublasLtMatmul) matmul = nullptr;
  decltype(&cublasLtMatmulAlgoCheck) check = nullptr;
  decltype(&cublasLtMatmulAlgoCapGetAttribute) get_capability = nullptr;
  decltype(&cublasLtMatmulAlgoConfigGetAttribute) get_configuration = nullptr;
  decltype(&cublasLtMatmulAlgoGetHeuristic) get_heuristic = nullptr;
  decltype(&cublasLtMatmulDescCreate) create_operation = nullptr;
  decltype(&cublasLtMatmulDescDestroy) destroy_operation = nullptr;
  decltype(&cublasLtMatmulDescSetAttribute) set_operation = nullptr;
  decltype(&cublasLtMatmulPreferenceCreate) create_preference = nullptr;
  decltype(&cublasLtMatmulPreferenceDestroy) destroy_preference = nullptr;
  decltype(&cublasLtMatmulPreferenceSetAttribute) set_preference = nullptr;
  decltype(&cublasLtMatrixLayoutCreate) create_layout = nullptr;
  decltype(&cublasLtMatrixLayoutDestroy) destroy_layout = nullptr;
  decltype(&cublasLtMatrixLayoutSetAttribute) set_layout = nullptr;
};

// Returns null, and a reason of less than `size` bytes in `why_not`, if it cannot be opened. It stays open.
const CublasLt* OpenCublasLt(char* why_not, size_t size);

}  // namespace amp::cuda

#endif  // AMP_RUNTIME_CUDA_CUBLASLT_H_
