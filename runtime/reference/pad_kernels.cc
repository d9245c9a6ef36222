#include "runtime/reference/families.h"

namespace amp {

absl::Span<const KernelRow> PadKernels() { return {}; }

}  // namespace amp
