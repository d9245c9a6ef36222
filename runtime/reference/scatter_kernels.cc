#include "runtime/reference/families.h"

namespace amp {

absl::Span<const KernelRow> ScatterKernels() { return {}; }

}  // namespace amp
