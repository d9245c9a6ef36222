#include "runtime/reference/families.h"

namespace amp {

absl::Span<const KernelRow> NormKernels() { return {}; }

}  // namespace amp
