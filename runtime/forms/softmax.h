// The axes along which Softmax, LogSoftmax and Hardmax compute.
//
//   from opset 13 on   one axis, by default the last one
//   before             an axis, by default 1, and all behind it as if they were one
#ifndef AMP_RUNTIME_FORMS_SOFTMAX_H_
#define AMP_RUNTIME_FORMS_SOFTMAX_H_

#include <cstddef>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/kernel/cells.h"
#include "runtime/kernel/kernel.h"
#include "runtime/kernel/shape_math.h"

namespace amp {

struct SoftmaxForm {
  size_t first = 0, end = 0;  // axes [first, end) of the input, at least one

  std::vector<size_t> Axes() const { return AxesBetween(first, end); }
  // The elements of input `x` as rows along these axes.
  AxisView View(const Dims& x) const;
};

// Errors: kDataLoss, an axis that the input does not have.
absl::StatusOr<SoftmaxForm> ReadSoftmax(const KernelContext& context);

}  // namespace amp

#endif  // AMP_RUNTIME_FORMS_SOFTMAX_H_
