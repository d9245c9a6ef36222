// Weights of another type whose data lies in a file: converted while they are saved, chunk by chunk.
#ifndef AMP_IR_FILE_PENDING_TENSOR_H_
#define AMP_IR_FILE_PENDING_TENSOR_H_

#include "absl/container/flat_hash_map.h"
#include "ir/base/dtype.h"
#include "ir/file/tensor_view.h"

namespace amp {

// The tensor has its new data_type and dims and no payload; its elements are those of `source`, converted to `to`.
// Conversions: none, float32 or float64 to float16 or bfloat16, and these two to float32.
struct PendingTensor {
  TensorView source;
  DType to = DType::kUndefined;
};
using PendingTensors = absl::flat_hash_map<const onnx::TensorProto*, PendingTensor>;

}  // namespace amp

#endif  // AMP_IR_FILE_PENDING_TENSOR_H_
