// Convolutions without a library, for the device.
#include "runtime/cuda/stream_runner.cuh"
#include "runtime/device/raw/convolution.h"

namespace amp::cuda {

void AddConvolutionLaunches(device::LaunchTable& table) { AddLaunches<device::ConvolveArguments>(table); }

}  // namespace amp::cuda
