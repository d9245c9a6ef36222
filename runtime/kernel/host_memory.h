// Memory for the elements of tensors, as long as this machine has it: a model that asks for more gets an error, not the
// process its end.
#ifndef AMP_RUNTIME_KERNEL_HOST_MEMORY_H_
#define AMP_RUNTIME_KERNEL_HOST_MEMORY_H_

#include <cstddef>
#include <memory>

#include "absl/types/span.h"

namespace amp {

// Returns the bytes that all tensors of the process may take together: nine tenths of the memory of the machine, or of
// the control group that the process runs in.
size_t HostMemoryLimit();

// Allocates memory aligned to a cache line, which is as wide as the widest vector register. Returns null if the limit
// does not allow it. Large freed blocks stay with the process, for more of the same size, until another large size is
// asked for.
std::shared_ptr<void> AllocateHostMemory(size_t size_bytes);

// Gives the system back what was freed, between blocks that are in use, too. For the end of work that took much more
// memory than what follows; new memory takes longer to fill.
void GiveBackFreedMemory();

// Gives the system back the pages that lie within memory from AllocateHostMemory, which stays allocated: its bytes are
// lost, and may be written again. Returns false where no page does, and nothing is lost.
bool DropHostPages(absl::Span<std::byte> bytes);

}  // namespace amp

#endif  // AMP_RUNTIME_KERNEL_HOST_MEMORY_H_
