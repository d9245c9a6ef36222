// Decides whether cuDNN is too old for an operation. The functions return the reason in one line, or nothing.
//
//   WhyTooOld(attention, 91500)     "cuDNN 9.15.0 is too old for attention: expected 9.15.1 or newer"
//
// Before 9.15.1, cuDNN's attention is wrong when a CUDA graph replays it. Two more kinds of operations are left to 9.24
// and newer: depthwise convolutions, whose sizes may change from one to the next, and fusions that read tensors with
// gaps between their elements. Other operations replace these. Depthwise convolutions have kernels of this project,
// except for the gradients of their weights. Other convolutions are always given operands without gaps. Operands of
// attention are transposed, which leaves no gaps, unless they are parts of larger tensors.
#ifndef AMP_RUNTIME_CUDA_CUDNN_FLOORS_H_
#define AMP_RUNTIME_CUDA_CUDNN_FLOORS_H_

#include <cstddef>
#include <string>

#include "runtime/device/raw/library_operations.h"

namespace amp::cuda {

// Versions in cuDNN's numbering: 91900 for 9.19.0.
inline constexpr size_t kLeastCudnn = 90800;  // the first that plans for a device that is only described
inline constexpr size_t kLeastCudnnForAttention = 91501;
inline constexpr size_t kLeastCudnnForDepthwise = 92400;
inline constexpr size_t kLeastCudnnForGaps = 92400;

// Returns "9.19.0".
std::string CudnnVersionText(size_t version);

std::string WhyTooOld(size_t version);  // too old for every operation
std::string WhyTooOld(const device::LibraryConvolution& convolution, size_t version);
std::string WhyTooOld(const device::LibraryAttention& attention, size_t version);

}  // namespace amp::cuda

#endif  // AMP_RUNTIME_CUDA_CUDNN_FLOORS_H_
