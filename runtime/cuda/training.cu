// Optimizers, loss scales and losses, for the device.
#include "runtime/cuda/stream_runner.cuh"
#include "runtime/device/raw/loss.h"
#include "runtime/device/raw/optimizer.h"

namespace amp::cuda {

void AddTrainingLaunches(device::LaunchTable& table) {
  AddLaunches<device::AdamRateArguments, device::CheckFiniteArguments, device::CrossEntropyArguments,
              device::CrossEntropyGradientArguments, device::OptimizeArguments, device::UpdateLossScaleArguments>(
      table);
}

}  // namespace amp::cuda
