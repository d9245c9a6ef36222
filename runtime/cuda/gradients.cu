// Gradients of norms, pools and convolutions, for the device.
#include "runtime/cuda/stream_runner.cuh"
#include "runtime/device/raw/norm_gradient.h"
#include "runtime/device/raw/window_gradient.h"

namespace amp::cuda {

void AddGradientLaunches(device::LaunchTable& table) {
  AddLaunches<device::ChannelGradientArguments, device::ConvolveForWeightsArguments, device::JoinMomentsArguments,
              device::JoinSumsArguments, device::PartMomentsArguments, device::PartSumsArguments,
              device::RowGradientArguments, device::SpreadWindowsArguments, device::SumColumnsArguments>(table);
}

}  // namespace amp::cuda
