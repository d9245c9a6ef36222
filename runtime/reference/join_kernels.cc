#include "runtime/reference/families.h"

namespace amp {

absl::Span<const KernelRow> JoinKernels() { return {}; }

}  // namespace amp
