// Kernels that look for elements, resample images, weigh scores and step recurrent layers, for the device.
#include "runtime/cuda/stream_runner.cuh"
#include "runtime/device/raw/attention.h"
#include "runtime/device/raw/images.h"
#include "runtime/device/raw/recurrent.h"
#include "runtime/device/raw/select.h"

namespace amp::cuda {

void AddSelectLaunches(device::LaunchTable& table) {
  AddLaunches<device::AttendArguments, device::FindExtremesArguments, device::NormalizeNeighboursArguments,
              device::RecurrentStepArguments, device::ResampleArguments, device::ResetHiddenArguments,
              device::SelectTopArguments>(table);
}

}  // namespace amp::cuda
