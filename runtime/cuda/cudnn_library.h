// Opens cuDNN when the first convolution or attention is computed; nothing else needs it. This header includes none of
// cuDNN's. A build without cuDNN (without_cudnn.cc) never opens it.
#ifndef AMP_RUNTIME_CUDA_CUDNN_LIBRARY_H_
#define AMP_RUNTIME_CUDA_CUDNN_LIBRARY_H_

#include <cstddef>
#include <string>

#include "runtime/cuda/cudnn_floors.h"

struct cudnnContext;  // the type that cuDNN's handles point to
struct CUstream_st;

namespace amp::cuda {

// The opened cuDNN, kLeastCudnn or newer; or `version` 0 and a reason. It stays open.
struct CudnnLibrary {
  void* handle = nullptr;  // from dlopen
  size_t version = 0;
  std::string why_not;
};
const CudnnLibrary& OpenCudnn();

// The error of a call of cuDNN in one line; empty if there was none.
struct CudnnFailure {
  std::string text = {};
  bool is_out_of_memory = false;  // may be different at the next call
};

// Makes a handle that runs plans on the device that the calling thread uses, in the order of the stream. Returns null
// and sets `failure` if that fails. REQUIRES: OpenCudnn has opened cuDNN.
cudnnContext* MakeCudnnHandle(CUstream_st* stream, CudnnFailure& failure);
void DestroyCudnnHandle(cudnnContext* handle);

}  // namespace amp::cuda

#endif  // AMP_RUNTIME_CUDA_CUDNN_LIBRARY_H_
