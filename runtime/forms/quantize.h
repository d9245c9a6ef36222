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

// The type of QuantizeLinear's output: the zero point's, the stated one, or else uint8. Errors: the first two differ.
absl::StatusOr<DType> ReadQuantizedType(const KernelContext& context);

// The axis along which QLinearConcat of com.microsoft joins its parts; the first part is input 2. Errors: this part
// does not have the axis.
absl::StatusOr<size_t> ReadQuantizedConcatAxis(const KernelContext& context);

// Refuses all scales but one for the tensor, or one for each index of an axis.
Refusal WhyNotPlainScales(const KernelContext& context);

}  // namespace amp

#endif  // AMP_RUNTIME_FORMS_QUANTIZE_H_
