// Computes chains of element-wise nodes (runtime/loops/chain.h) with one kernel of a device.
#ifndef AMP_RUNTIME_DEVICE_CHAIN_KERNELS_H_
#define AMP_RUNTIME_DEVICE_CHAIN_KERNELS_H_

#include "runtime/kernel/kernel.h"

namespace amp {

// Returns the kernel row for chains. State: the Chain of the nodes.
const KernelRow& DeviceChainRow();

}  // namespace amp

#endif  // AMP_RUNTIME_DEVICE_CHAIN_KERNELS_H_
