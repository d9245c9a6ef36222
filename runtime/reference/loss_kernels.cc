#include "runtime/reference/families.h"

namespace amp {

absl::Span<const KernelRow> LossKernels() { return {}; }

}  // namespace amp
