// Convolutions and products of matrices without a library, for the device.
#include "runtime/cuda/stream_runner.cuh"
#include "runtime/device/raw/convolution.h"
#include "runtime/device/raw/multiply.h"

namespace amp::cuda {

void AddConvolutionLaunches(device::LaunchTable& table) {
  AddLaunches<device::ConvolveArguments, device::MultiplyArguments>(table);
}

}  // namespace amp::cuda
