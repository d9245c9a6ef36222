// Kernels that compute element by element, for the device.
#include "runtime/cuda/stream_runner.cuh"
#include "runtime/device/raw/chain.h"
#include "runtime/device/raw/elementwise.h"

namespace amp::cuda {

// The chain's kernel contains all functions, and those that are seldom called need the most registers.
template <>
inline constexpr int kLeastBlocks<device::ChainBody<device::kChainRegisters>> = 3;

void AddElementwiseLaunches(device::LaunchTable& table) {
  AddLaunches<device::ChainArguments, device::MapArguments, device::ConvertArguments, device::ZipArguments,
              device::ZipIntegersArguments, device::CompareArguments, device::ChooseArguments,
              device::CompareAndChooseArguments>(table);
}

}  // namespace amp::cuda
