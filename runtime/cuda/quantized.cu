// Arithmetic on integers of 8 bits, for the device.
#include "runtime/cuda/stream_runner.cuh"
#include "runtime/device/raw/integers.h"
#include "runtime/device/raw/quantized.h"

namespace amp::cuda {

void AddQuantizedLaunches(device::LaunchTable& table) {
  AddLaunches<device::QuantizeArguments, device::DequantizeArguments, device::FindRangeArguments,
              device::QuantizedPairArguments, device::QuantizedTableArguments, device::QuantizedMeanArguments,
              device::MultiplyIntegersArguments, device::ConvolveIntegersArguments>(table);
}

}  // namespace amp::cuda
