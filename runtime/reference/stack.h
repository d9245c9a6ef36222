// Tensors put on top of each other along a new axis, and taken apart again: what loops read and give, an element for
// every iteration.
#ifndef AMP_RUNTIME_REFERENCE_STACK_H_
#define AMP_RUNTIME_REFERENCE_STACK_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/kernel/kernel.h"
#include "runtime/kernel/tensor.h"

namespace amp {

// An output of a body that it gives in every iteration.
struct BodyOutput {
  const Model& model;
  GraphId body;
  size_t port;
};

// [2,3] and [2,3] along axis 1 are [2,2,3]; `axis` may count from the end, as an axis of the result. Without elements
// the type and the other dimensions are those that inference knows of the body's output, or the body states, and 0
// where neither does. Errors: elements of different types or shapes.
absl::StatusOr<Tensor> Stack(const BodyOutput& source, absl::Span<const Tensor> elements, int64_t axis);

// The elements at one index of an axis: [2,3] of [2,2,3] along axis 1. REQUIRES: the tensor has that axis and index.
absl::StatusOr<Tensor> SliceAt(const Tensor& whole, size_t axis, int64_t index);

// Takes the outputs of a body. The first ones become the `states` of the next iteration; each of the others, which must
// be tensors, goes to the end of its list of `scans`.
absl::Status TakeOutputs(std::vector<Datum> outputs, absl::Span<Datum> states, absl::Span<std::vector<Tensor>> scans);

}  // namespace amp

#endif  // AMP_RUNTIME_REFERENCE_STACK_H_
