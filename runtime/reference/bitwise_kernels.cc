#include "runtime/reference/families.h"

namespace amp {

absl::Span<const KernelRow> BitwiseKernels() { return {}; }

}  // namespace amp
