// Computes a device library's convolutions and attention on the processor, in plain float32 loops, for the test double.
#ifndef AMP_TESTS_RUNTIME_DEVICE_FAKE_OPERATIONS_H_
#define AMP_TESTS_RUNTIME_DEVICE_FAKE_OPERATIONS_H_

#include "runtime/device/raw/library_operations.h"

namespace amp {

void ConvolveOnHost(const device::LibraryConvolution& convolution);
void AttendOnHost(const device::LibraryAttention& attention);

}  // namespace amp

#endif  // AMP_TESTS_RUNTIME_DEVICE_FAKE_OPERATIONS_H_
