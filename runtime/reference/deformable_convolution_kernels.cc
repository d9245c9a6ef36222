#include "runtime/reference/families.h"

namespace amp {

absl::Span<const KernelRow> DeformableConvolutionKernels() { return {}; }

}  // namespace amp
