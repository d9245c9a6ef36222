// The groups and windows of convolutions.
#ifndef AMP_RUNTIME_FORMS_CONVOLUTION_H_
#define AMP_RUNTIME_FORMS_CONVOLUTION_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ir/graph/graph.h"
#include "runtime/forms/window.h"
#include "runtime/kernel/tensor.h"

namespace amp {

// Attribute `group`. Errors: it does not divide the channels.
absl::StatusOr<int64_t> ReadGroup(const Node& node, int64_t channels);

// Errors: ranks that differ or are below 2, an attribute `kernel_shape` that is not w's.
absl::Status CheckConvolution(const Node& node, const Tensor& x, const Tensor& w);

// The window of ConvTranspose, which slides over the output: its `input` is the output's size. Errors: those of
// SlideWindow.
absl::StatusOr<Window> SlideWindowOverOutput(const Node& node, const Tensor& x, const Tensor& w);

// The window of a gradient of weights, by the attribute `kernel_shape`. x [N, C, ...] is the convolution's input;
// g [N, M, ...] has the shape of its output. Errors: shapes and attributes that do not fit each other.
absl::StatusOr<Window> SlideWindowForWeights(const Node& node, const Tensor& x, const Tensor& g);

}  // namespace amp

#endif  // AMP_RUNTIME_FORMS_CONVOLUTION_H_
