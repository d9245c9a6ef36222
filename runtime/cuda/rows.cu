// Reductions, softmax, norms and pools, for the device.
#include "runtime/cuda/stream_runner.cuh"
#include "runtime/device/raw/rows.h"
#include "runtime/device/raw/split_rows.h"

namespace amp::cuda {

void AddRowLaunches(device::LaunchTable& table) {
  AddLaunches<device::ReduceArguments, device::SoftmaxArguments, device::NormalizeArguments,
              device::NormalizeChannelsArguments, device::PoolArguments, device::ReducePartsArguments,
              device::SoftmaxPartsArguments, device::SoftmaxOfPartsArguments, device::NormalizePartsArguments,
              device::NormalizeOfPartsArguments>(table);
}

}  // namespace amp::cuda
