// Whether Dropout drops elements, and what type its mask has.
#ifndef AMP_RUNTIME_FORMS_DROPOUT_H_
#define AMP_RUNTIME_FORMS_DROPOUT_H_

#include "absl/status/statusor.h"
#include "ir/base/dtype.h"
#include "runtime/kernel/kernel.h"

namespace amp {

struct DropoutForm {
  bool drops = false;  // false also if the ratio is 0
  double ratio = 0.5;
};

// Opsets 1 and 6 drop unless the attribute is_test says otherwise, 7 and 10 never do, 12 and later have inputs for it.
// Errors: inputs of other types or shapes, a ratio outside [0, 1).
absl::StatusOr<DropoutForm> ReadDropout(const KernelContext& context);

// bool from opset 10 on, before that the type of the data.
DType ReadDropoutMaskType(const KernelContext& context);

}  // namespace amp

#endif  // AMP_RUNTIME_FORMS_DROPOUT_H_
