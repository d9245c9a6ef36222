// From what files hold to what kernels read.
#ifndef AMP_RUNTIME_KERNEL_MAKE_DATUM_H_
#define AMP_RUNTIME_KERNEL_MAKE_DATUM_H_

#include "absl/status/statusor.h"
#include "ir/graph/tensor_content.h"
#include "runtime/kernel/tensor.h"

namespace amp {

// Types below 8 bits are unpacked to a byte for each element. Errors: those of Tensor::Create, and an element type that
// is none.
absl::StatusOr<Tensor> MakeTensor(const TensorContent& content);
// Reads elements that are laid out as kernels have them straight into place. Errors: as above, and those of reading.
absl::StatusOr<Tensor> MakeTensor(const TensorView& view);
absl::StatusOr<Datum> MakeDatum(const DatumContent& content);

}  // namespace amp

#endif  // AMP_RUNTIME_KERNEL_MAKE_DATUM_H_
