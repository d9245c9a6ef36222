// What Conv and ConvTranspose compute, for all kernels of a device that do.
#ifndef AMP_RUNTIME_DEVICE_CONVOLUTION_SHAPE_H_
#define AMP_RUNTIME_DEVICE_CONVOLUTION_SHAPE_H_

#include "absl/status/statusor.h"
#include "runtime/forms/window.h"
#include "runtime/kernel/kernel.h"

namespace amp {

enum class ConvolutionKind { kPlain, kTransposed };

struct ConvolutionShape {
  Window window;                                  // of a transposed one: over the result
  int64_t groups = 1, channels = 0, filters = 0;  // channels and filters of all groups
  Dims y;                                         // [batch, filters, ...]

  // Whether every channel is a group of its own.
  bool IsDepthwise() const { return groups > 1 && groups == channels; }
};

// Errors: what does not fit.
absl::StatusOr<ConvolutionShape> ShapeOfConvolution(const Node& node, const Tensor& x, const Tensor& w,
                                                    ConvolutionKind kind);
// Of inputs 0 and 1: x and w.
absl::StatusOr<ConvolutionShape> ShapeOfConvolution(const KernelContext& context, ConvolutionKind kind);

// Why no kernel of a device takes the inputs, of which the third is a bias; null where one may, and then the shape is one
// without errors.
Refusal WhyNotConvolution(const KernelContext& context, ConvolutionKind kind);

// Why no kernel of a device does what FusedConv states to a result of dims y; null where all do.
Refusal WhyNotStated(const KernelContext& context, const Dims& y);

}  // namespace amp

#endif  // AMP_RUNTIME_DEVICE_CONVOLUTION_SHAPE_H_
