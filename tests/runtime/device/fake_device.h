// A test double of a device: its memory is the processor's, its kernels are those of runtime/device/raw in plain loops.
// For tests alone: the numbers of the real device's kernels, and all that happens around them, without one.
//
// Tensors in its memory are as far away as those of a real device: whoever looks at their elements ends the process.
#ifndef AMP_TESTS_RUNTIME_DEVICE_FAKE_DEVICE_H_
#define AMP_TESTS_RUNTIME_DEVICE_FAKE_DEVICE_H_

#include <array>
#include <cstddef>
#include <limits>
#include <memory>

#include "runtime/device/accelerator.h"

namespace amp {

// The parts that the test double of a device has, and the points at which it fails.
struct FakeDeviceLimits {
  size_t memory_bytes = std::numeric_limits<size_t>::max();
  int launches = std::numeric_limits<int>::max();  // the next one fails, with error 700
  bool has_products = true;                        // else it is as a device without its library
  bool takes_products = true;                      // else it is as one whose library has no algorithm for them
  bool has_workspaces = true;                      // for its libraries, else it is out of memory for these
  bool has_operations = true;                      // the same of convolutions and attention
  bool has_tensor_cores = true;                    // for convolutions in 16 bits
  bool adds_bias = true;                           // to convolutions
  bool takes_channels_last = true;                 // of convolutions
  bool has_recordings = true;
  bool starts_recordings = true;   // else it fails to, with error 900
  bool records_operations = true;  // else it breaks a recording by refusing what its library does alone
  bool has_ranks = true;           // the library that joins ranks
  int num_multiprocessors = 4;
  size_t stage_bytes = size_t{8} << 20;
  bool has_pinned_memory = true;  // else there is not enough: error 902
};

// Counts of what the device holds and has done. They can be read also after it was closed.
struct FakeDeviceState {
  size_t live_bytes = 0, live_blocks = 0, peak_bytes = 0;
  int launches = 0, allocations = 0, operations = 0;  // asked for, also while it records
  int channels_last = 0;                              // operations with channels beside each other
  int recordings = 0, replays = 0;                    // recordings that are there
  int folds = 0;                                      // over ranks
  int waits = 0;                                      // of the processor, for what it copies
  std::array<int, device::kNumKernels> kernels = {};  // launches by kernel, also while it records
  int timed = 0;                                      // what had no fastest way that was known
  int staged = 0;                                     // copies by way of pinned memory, in parts
  int pinned_blocks = 0;
  bool is_closed = false;
};

// `state` is kept up to date, unless it is null.
std::shared_ptr<Accelerator> OpenFakeDevice(const std::shared_ptr<FakeDeviceState>& state = nullptr,
                                            const FakeDeviceLimits& limits = {});

}  // namespace amp

#endif  // AMP_TESTS_RUNTIME_DEVICE_FAKE_DEVICE_H_
