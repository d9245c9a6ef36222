// The axes that a node reduces, and the shape that is left.
//
//   ReduceMean (x [2, 3, 4]; axes = [-1], keepdims = 0)   axes 2, result [2, 3]
//   GlobalAveragePool (x [2, 3, 4, 5])                    axes 2 and 3, result [2, 3, 1, 1]
#ifndef AMP_RUNTIME_FORMS_REDUCTION_H_
#define AMP_RUNTIME_FORMS_REDUCTION_H_

#include <cstddef>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/kernel/kernel.h"
#include "runtime/kernel/tensor.h"

namespace amp {

struct ReductionForm {
  std::vector<size_t> axes;  // sorted
  Dims dims;                 // of the result
};

// The axes are those of input 1 or of the attribute `axes`. Without any, all axes are reduced, or none if
// `noop_with_empty_axes` is set. Errors: those of NormalizeAxes.
absl::StatusOr<ReductionForm> ReadReduction(const KernelContext& context);

// All axes behind the channels, which are axis 1.
ReductionForm ReadGlobalReduction(const KernelContext& context);

}  // namespace amp

#endif  // AMP_RUNTIME_FORMS_REDUCTION_H_
