#include "runtime/reference/families.h"

namespace amp {

absl::Span<const KernelRow> GeneratorKernels() { return {}; }

}  // namespace amp
