// Putting tensors together along an axis, and taking one apart: for Concat, Split and their kin for sequences.
#ifndef AMP_RUNTIME_REFERENCE_JOIN_H_
#define AMP_RUNTIME_REFERENCE_JOIN_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/kernel/tensor.h"

namespace amp {

// Errors: no parts, an axis that they do not have, types or other dimensions that differ.
absl::StatusOr<Tensor> Join(absl::Span<const Tensor> parts, int64_t axis, TensorMemory* memory = nullptr);

// Into as many parts as there are sizes. Errors: sizes that are negative or do not sum up to the dimension.
absl::StatusOr<std::vector<Tensor>> Split(const Tensor& whole, size_t axis, absl::Span<const int64_t> sizes,
                                          TensorMemory* memory = nullptr);

}  // namespace amp

#endif  // AMP_RUNTIME_REFERENCE_JOIN_H_
