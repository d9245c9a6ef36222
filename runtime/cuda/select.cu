// Kernels that look for elements, resample images and weigh scores, for the device.
#include "runtime/cuda/stream_runner.cuh"
#include "runtime/device/raw/attention.h"
#include "runtime/device/raw/images.h"
#include "runtime/device/raw/select.h"

namespace amp::cuda {

void AddSelectLaunches(device::LaunchTable& table) {
  AddLaunches<device::AttendArguments, device::FindExtremesArguments, device::NormalizeNeighboursArguments,
              device::ResampleArguments, device::SelectTopArguments>(table);
}

}  // namespace amp::cuda
