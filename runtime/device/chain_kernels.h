// Element-wise nodes that one kernel of a device computes: the chains of runtime/loops/chain.h there.
#ifndef AMP_RUNTIME_DEVICE_CHAIN_KERNELS_H_
#define AMP_RUNTIME_DEVICE_CHAIN_KERNELS_H_

#include "runtime/kernel/kernel.h"

namespace amp {

// The row that computes chains, which finds the Chain of its nodes in its state.
const KernelRow& DeviceChainRow();

}  // namespace amp

#endif  // AMP_RUNTIME_DEVICE_CHAIN_KERNELS_H_
