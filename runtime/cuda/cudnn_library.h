// cuDNN, opened when the first convolution or attention is computed: nothing else needs it. No header of cuDNN is needed
// to include this; what was built without it (without_cudnn.cc) opens none.
#ifndef AMP_RUNTIME_CUDA_CUDNN_LIBRARY_H_
#define AMP_RUNTIME_CUDA_CUDNN_LIBRARY_H_

#include <cstddef>
#include <string>

#include "runtime/cuda/cudnn_floors.h"

struct cudnnContext;  // what cuDNN's handles point to
struct CUstream_st;

namespace amp::cuda {

// What is there: `version` 0 and why not, or cuDNN of kLeastCudnn or newer. Stays open.
struct CudnnLibrary {
  void* handle = nullptr;  // of dlopen
  size_t version = 0;
  std::string why_not;
};
const CudnnLibrary& OpenCudnn();

// What kept cuDNN from something, in one line; empty: nothing did.
struct CudnnFailure {
  std::string text = {};
  bool is_out_of_memory = false;  // which does not last
};

// What runs plans, on the device that the thread uses, in the order of the stream. Null, and why not.
// REQUIRES: OpenCudnn has opened it.
cudnnContext* MakeCudnnHandle(CUstream_st* stream, CudnnFailure& failure);
void DestroyCudnnHandle(cudnnContext* handle);

}  // namespace amp::cuda

#endif  // AMP_RUNTIME_CUDA_CUDNN_LIBRARY_H_
