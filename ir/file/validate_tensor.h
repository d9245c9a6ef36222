// The part of ValidateModel that judges one tensor: known type, sane dims, and exactly one payload of exactly the size
// that shape and type ask for.
#ifndef AMP_IR_FILE_VALIDATE_TENSOR_H_
#define AMP_IR_FILE_VALIDATE_TENSOR_H_

#include "absl/status/status.h"
#include "ir/base/limits.h"
#include "ir/file/model_file.h"

namespace onnx {
class SparseTensorProto;
class TensorProto;
}  // namespace onnx

namespace amp {

// Errors as ValidateModel, without the tensor's name.
absl::Status ValidateTensor(const onnx::TensorProto& tensor, const Limits& limits, const LeftOutPayloads* left_out);

// Also: values of rank 1, int64 indices of rank 1 or 2 that match, in range and ascending (where they are in memory).
absl::Status ValidateSparseTensor(const onnx::SparseTensorProto& sparse, const Limits& limits,
                                  const LeftOutPayloads* left_out);

// True for ONNX's element types that this project knows, UNDEFINED excluded.
bool IsKnownElementType(int64_t type);

}  // namespace amp

#endif  // AMP_IR_FILE_VALIDATE_TENSOR_H_
