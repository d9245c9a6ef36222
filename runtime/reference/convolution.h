// Convolutions of float64 tensors, for all operators that are one inside.
//
// Both ways are a matrix product with a matrix of columns, one for each position: convolving gathers the columns from
// the image, the transposed convolution scatters them into it. As many columns as fit a cache are made at a time.
#ifndef AMP_RUNTIME_REFERENCE_CONVOLUTION_H_
#define AMP_RUNTIME_REFERENCE_CONVOLUTION_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/forms/window.h"

namespace amp {

// x [N, C, ...] and w [M, C / group, ...] give [N, M, ...], with the attributes of Conv. Exact for integers below 2^53.
// Errors: shapes and attributes that do not fit each other.
absl::StatusOr<Tensor> Convolve(const Node& node, const Tensor& x, const Tensor& w);
// x [N, C, ...] and w [C, M / group, ...] give [N, M, ...], with the attributes of ConvTranspose.
absl::StatusOr<Tensor> ConvolveTransposed(const Node& node, const Tensor& x, const Tensor& w);

// Returns the gradient of the weights of both: for x [N, C, ...] and g [N, M, ...], of the shape of the convolution's
// result, [M, C / group, kernel_shape...], with the attributes of Conv, `kernel_shape` among them.
absl::StatusOr<Tensor> ConvolveForWeights(const Node& node, const Tensor& x, const Tensor& g);

// y [N, M, ...] += bias [M]. Errors: another shape.
absl::Status AddBias(const Tensor& bias, Tensor& y);

}  // namespace amp

#endif  // AMP_RUNTIME_REFERENCE_CONVOLUTION_H_
