// Kernels that move elements, for the device.
#include "runtime/cuda/stream_runner.cuh"
#include "runtime/device/raw/move.h"

namespace amp::cuda {

void AddMoveLaunches(device::LaunchTable& table) {
  AddLaunches<device::CopyStridedArguments, device::CopyBlocksArguments, device::CopyPickedArguments,
              device::CopyRunsArguments, device::ScatterRunsArguments, device::JoinPlanesArguments>(table);
}

}  // namespace amp::cuda
