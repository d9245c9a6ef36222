// The scales and types of QuantizeLinear and DequantizeLinear.
//
//   scale [] or [1]                      one scale for the whole tensor
//   scale [C], axis = 1                  one scale for each index of the axis
//   scale [N, C / 32], block_size = 32   one scale for each block along the axis
#ifndef AMP_RUNTIME_FORMS_QUANTIZE_H_
#define AMP_RUNTIME_FORMS_QUANTIZE_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "ir/base/dtype.h"
#include "runtime/kernel/kernel.h"

namespace amp {

struct QuantizeForm {
  static constexpr size_t kX = 0, kScale = 1, kZeroPoint = 2;  // inputs

  size_t axis = 0;                 // 0 if there is one scale
  int64_t block_size = 0;          // 0: the scales are not of blocks
  std::optional<DType> precision;  // the type in which QuantizeLinear divides, if it is stated
  std::optional<DType> output;     // the type of the output, if it is stated

  bool HasBlocks() const { return block_size != 0; }
};

// Errors: an axis that the input does not have, an attribute that names no element type.
absl::StatusOr<QuantizeForm> ReadQuantize(const KernelContext& context);

// The type that QuantizeLinear gives: the zero point's, the stated one, or else uint8. Errors: both are there and differ.
absl::StatusOr<DType> ReadQuantizedType(const KernelContext& context);

// The axis along which com.microsoft's QLinearConcat joins its parts, of which the first is input 2. Errors: an axis that
// this part does not have.
absl::StatusOr<size_t> ReadQuantizedConcatAxis(const KernelContext& context);

// The reason why kernels for one scale, or one for each index of an axis, do not compute the node; null if they do.
Refusal WhyNotPlainScales(const KernelContext& context);

}  // namespace amp

#endif  // AMP_RUNTIME_FORMS_QUANTIZE_H_
