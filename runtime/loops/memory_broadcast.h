// Operands that broadcast, as they lie in memory: all row by row, or the larger ones channels-last.
//
//   x [2,8,5,5] channels-last, b [8,1,1]    as [2,5,5,8] and [1,1,8]
//   x [2,8,5,5] channels-last, s [2,8,1,1]  as [2,5,5,8] and [2,1,1,8], whose elements lie there in either layout
#ifndef AMP_RUNTIME_LOOPS_MEMORY_BROADCAST_H_
#define AMP_RUNTIME_LOOPS_MEMORY_BROADCAST_H_

#include <cstddef>

#include "absl/status/statusor.h"
#include "runtime/kernel/broadcast.h"
#include "runtime/kernel/kernel.h"
#include "runtime/kernel/tensor.h"

namespace amp {

struct MemoryBroadcast {
  Broadcast broadcast;  // over places in memory
  Dims dims;            // of the result
  Layout layout = Layout::kRowMajor;
};

// As the version of the operator says, or NumPy's way whatever that is.
enum class BroadcastRule { kOfOperator, kNumPy };

// Why inputs [0, count) do not meet without being moved; null if they do.
Refusal WhyNotInMemory(const KernelContext& context, size_t count, BroadcastRule rule = BroadcastRule::kOfOperator);

// REQUIRES: WhyNotInMemory is null. Errors: those of BroadcastPair for two by the operator's rule, else of
// BroadcastInputs.
absl::StatusOr<MemoryBroadcast> BroadcastInMemory(const KernelContext& context, size_t count,
                                                  BroadcastRule rule = BroadcastRule::kOfOperator);

// Output 0 of that shape, in the elements of an input that has shape, layout and type of it where nobody else needs
// them. Errors: those of MakeOutput.
absl::StatusOr<Tensor*> MakeBroadcastOutput(KernelContext& context, const MemoryBroadcast& broadcast, DType dtype);

}  // namespace amp

#endif  // AMP_RUNTIME_LOOPS_MEMORY_BROADCAST_H_
