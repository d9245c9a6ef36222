// Norms and softmax of input 0 by the numbers that say which, for operators and for what is written out.
#ifndef AMP_RUNTIME_LOOPS_NORMALIZE_H_
#define AMP_RUNTIME_LOOPS_NORMALIZE_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/kernel/kernel.h"
#include "runtime/kernel/shape_math.h"
#include "runtime/loops/moments.h"

namespace amp {

inline constexpr char kNothingToNormalize[] = "nothing to normalize";

// By the statistics of all axes from one on.
struct RowNorm {
  // Where things are; 0: there are none such.
  struct Ports {
    size_t skip, scale, bias, row_bias;
    size_t mean, inverse_deviation, sum;  // outputs
  };
  Ports ports;
  Centre centre;
  size_t axis;
  double epsilon;
  DType stored_as;  // the result
};

// Whether scale and biases, as far as there are any, are as long as a row. REQUIRES: the axis is one of input 0, or its
// rank.
Refusal WhyNotRows(const KernelContext& context, const RowNorm::Ports& ports, size_t axis);
// REQUIRES: WhyNotRows is null, and so is what the skip asks for. Errors: memory.
absl::Status NormalizeRows(KernelContext& context, const RowNorm& norm);

// Normalization of [N, C, ...] by the statistics of groups of channels; inputs 1 and 2 are scale and bias of channels.
struct GroupNorm {
  int64_t groups;
  double epsilon;
  DType stored_as;  // the result
};

Refusal WhyNotGroups(const KernelContext& context, int64_t groups);
// REQUIRES: WhyNotGroups is null. Errors: memory.
absl::Status NormalizeGroups(KernelContext& context, const GroupNorm& norm);

// Output 0 like input 0, but for its type.
absl::StatusOr<Tensor*> MakeNormOutput(KernelContext& context, DType stored_as);

// The result is of the type of input 0. REQUIRES: float32, float16 or bfloat16. Errors: memory.
absl::Status SoftmaxAlong(KernelContext& context, const AxisView& view);
absl::Status LogSoftmaxAlong(KernelContext& context, const AxisView& view);

}  // namespace amp

#endif  // AMP_RUNTIME_LOOPS_NORMALIZE_H_
