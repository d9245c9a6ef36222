// What a library computes on a device, in plain loops of float32: for the test double.
#ifndef AMP_TESTS_RUNTIME_DEVICE_FAKE_OPERATIONS_H_
#define AMP_TESTS_RUNTIME_DEVICE_FAKE_OPERATIONS_H_

#include "runtime/device/raw/library_operations.h"

namespace amp {

void ConvolveOnHost(const device::LibraryConvolution& convolution);
void AttendOnHost(const device::LibraryAttention& attention);

}  // namespace amp

#endif  // AMP_TESTS_RUNTIME_DEVICE_FAKE_OPERATIONS_H_
