// The number that ConstantOfShape fills a shape with.
#ifndef AMP_RUNTIME_FORMS_FILL_VALUE_H_
#define AMP_RUNTIME_FORMS_FILL_VALUE_H_

#include "absl/status/statusor.h"
#include "runtime/kernel/kernel.h"

namespace amp {

// The attribute's tensor, of one element: float32 0 where there is none.
absl::StatusOr<Tensor> ReadFillValue(const KernelContext& context);

}  // namespace amp

#endif  // AMP_RUNTIME_FORMS_FILL_VALUE_H_
