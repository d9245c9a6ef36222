// CumSum and CumProd: along which axis, and of which elements before each one.
#ifndef AMP_RUNTIME_FORMS_CUMULATIVE_H_
#define AMP_RUNTIME_FORMS_CUMULATIVE_H_

#include <cstddef>

#include "absl/status/statusor.h"
#include "runtime/kernel/kernel.h"

namespace amp {

struct CumulativeForm {
  size_t axis = 0;
  bool reverse = false;    // from the end on
  bool exclusive = false;  // without the element itself
};

// Errors: an axis that is no number, or that the input does not have.
absl::StatusOr<CumulativeForm> ReadCumulative(const KernelContext& context);

}  // namespace amp

#endif  // AMP_RUNTIME_FORMS_CUMULATIVE_H_
