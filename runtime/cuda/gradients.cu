// Gradients of norms, pools, convolutions and tables, for the device.
#include "runtime/cuda/stream_runner.cuh"
#include "runtime/device/raw/norm_gradient.h"
#include "runtime/device/raw/picked_rows.h"
#include "runtime/device/raw/window_gradient.h"

namespace amp::cuda {

void AddGradientLaunches(device::LaunchTable& table) {
  AddLaunches<device::AddPickedRowsArguments, device::ChannelGradientArguments, device::ConvolveForWeightsArguments,
              device::JoinColumnsArguments, device::JoinMomentsArguments, device::JoinSumsArguments,
              device::PartMomentsArguments, device::PartSumsArguments, device::RowGradientArguments,
              device::SpreadWindowsArguments, device::SumColumnsArguments>(table);
}

}  // namespace amp::cuda
