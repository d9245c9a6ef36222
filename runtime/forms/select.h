// The elements of rows that ArgMax, ArgMin and TopK look for.
#ifndef AMP_RUNTIME_FORMS_SELECT_H_
#define AMP_RUNTIME_FORMS_SELECT_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"
#include "runtime/kernel/kernel.h"
#include "runtime/kernel/tensor.h"

namespace amp {

// ArgMax and ArgMin give the position of one element along an axis.
struct ExtremeForm {
  size_t axis = 0;
  Dims dims;                // of the positions
  bool takes_last = false;  // of several equal elements
};
// Errors: an axis that the input does not have.
absl::StatusOr<ExtremeForm> ReadExtreme(const KernelContext& context);

// TopK gives the k largest or smallest elements along an axis.
struct TopForm {
  size_t axis = 0;
  int64_t k = 0;  // in [0, size of the axis]: an input from opset 10 on, an attribute before
  bool is_largest = true;
};
// Errors: an axis that the input does not have, a k that is absent or out of range.
absl::StatusOr<TopForm> ReadTop(const KernelContext& context);

}  // namespace amp

#endif  // AMP_RUNTIME_FORMS_SELECT_H_
