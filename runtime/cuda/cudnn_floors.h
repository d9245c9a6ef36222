// What is not asked of a cuDNN that is too old for it, and why: one line, or nothing.
//
//   WhyTooOld(attention, 91500)     "cuDNN 9.15.0 is too old for attention: expected 9.15.1 or newer"
//
// Before 9.15.1 graphs of CUDA replay attention wrongly. From 9.24 on alone: depthwise convolutions, whose sizes may change
// from one to the next, and fusions that read tensors with gaps between their elements. Depthwise convolutions have kernels of our own, but for the gradients of their weights; other convolutions are asked for
// without gaps; operands of attention are transposed, which leaves no gaps either, unless they are parts of larger tensors.
#ifndef AMP_RUNTIME_CUDA_CUDNN_FLOORS_H_
#define AMP_RUNTIME_CUDA_CUDNN_FLOORS_H_

#include <cstddef>
#include <string>

#include "runtime/device/raw/library_operations.h"

namespace amp::cuda {

// Versions as cuDNN counts them: 91900 for 9.19.0.
inline constexpr size_t kLeastCudnn = 90800;  // plans for a device that is described, not there
inline constexpr size_t kLeastCudnnForAttention = 91501;
inline constexpr size_t kLeastCudnnForDepthwise = 92400;
inline constexpr size_t kLeastCudnnForGaps = 92400;

// "9.19.0"
std::string CudnnVersionText(size_t version);

std::string WhyTooOld(size_t version);  // for anything
std::string WhyTooOld(const device::LibraryConvolution& convolution, size_t version);
std::string WhyTooOld(const device::LibraryAttention& attention, size_t version);

}  // namespace amp::cuda

#endif  // AMP_RUNTIME_CUDA_CUDNN_FLOORS_H_
