// Kernels that compute element by element, for the device.
#include "runtime/cuda/stream_runner.cuh"
#include "runtime/device/raw/chain.h"
#include "runtime/device/raw/elementwise.h"

namespace amp::cuda {

void AddElementwiseLaunches(device::LaunchTable& table) {
  AddLaunches<device::ChainArguments, device::MapArguments, device::ConvertArguments, device::ZipArguments,
              device::ZipIntegersArguments, device::CompareArguments, device::ChooseArguments>(table);
}

}  // namespace amp::cuda
