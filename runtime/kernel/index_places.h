// Where indices lead to in a tensor: the two ways that ONNX has, which gathering reads from and scattering writes to.
//
//   elements, along axis 0 of data [3,2]:   indices [[2,0]] lead to data[2,0] and data[0,1]
//   tuples, into data [3,2]:                indices [[2,0],[1,1]] lead to data[2,0] and data[1,1]
//                                           indices [[2],[1]] lead to the rows data[2] and data[1]
//
// -1 is the last element of an axis.
#ifndef AMP_RUNTIME_KERNEL_INDEX_PLACES_H_
#define AMP_RUNTIME_KERNEL_INDEX_PLACES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/kernel/tensor.h"

namespace amp {

// Runs of elements one behind the other, as many as there are indices or tuples of them.
struct Places {
  std::vector<size_t> firsts;
  size_t run = 1;
};

// The values of an integer tensor of indices.
struct Indices {
  Dims dims;
  std::vector<int64_t> elements;
};

// Errors: indices of another rank than the data, or more of another dimension than `axis` than these have.
absl::Status CheckElementDims(absl::Span<const int64_t> data, size_t axis, absl::Span<const int64_t> indices);

// Every index replaces its own coordinate along the axis. Errors: another rank, more of another dimension than the data
// have, an index that is out of range.
absl::StatusOr<Places> ElementPlaces(absl::Span<const int64_t> data, int64_t axis, Indices indices);

// The last dimension holds tuples of coordinates; the first `batch_dims` dimensions are those of the data too. Errors:
// tuples of no coordinate or of more than the data have axes, batch dimensions that differ, an index out of range.
absl::StatusOr<Places> TuplePlaces(absl::Span<const int64_t> data, const Indices& indices, int64_t batch_dims);

}  // namespace amp

#endif  // AMP_RUNTIME_KERNEL_INDEX_PLACES_H_
