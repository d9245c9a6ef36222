// The shapes of Conv and ConvTranspose, for all kernels of a device that compute them.
#ifndef AMP_RUNTIME_DEVICE_CONVOLUTION_SHAPE_H_
#define AMP_RUNTIME_DEVICE_CONVOLUTION_SHAPE_H_

#include "absl/status/statusor.h"
#include "runtime/forms/window.h"
#include "runtime/kernel/kernel.h"

namespace amp {

enum class ConvolutionKind { kPlain, kTransposed };

struct ConvolutionShape {
  Window window;                                  // of a transposed convolution: over the result
  int64_t groups = 1, channels = 0, filters = 0;  // over all groups
  Dims y;                                         // [batch, filters, ...]

  // Whether each channel is a group of its own.
  bool IsDepthwise() const { return groups > 1 && groups == channels; }
};

// Errors: x and w do not fit each other or the attributes.
absl::StatusOr<ConvolutionShape> ShapeOfConvolution(const Node& node, const Tensor& x, const Tensor& w,
                                                    ConvolutionKind kind);
// Does the same with inputs 0 and 1 as x and w.
absl::StatusOr<ConvolutionShape> ShapeOfConvolution(const KernelContext& context, ConvolutionKind kind);

// Returns why no kernel of a device takes the inputs, of which the third is a bias; null if one may. In that case,
// ShapeOfConvolution succeeds.
Refusal WhyNotConvolution(const KernelContext& context, ConvolutionKind kind);

// Returns why no kernel of a device applies FusedConv's activation and Z to a result of dims y; null if all kernels do.
Refusal WhyNotStated(const KernelContext& context, const Dims& y);

}  // namespace amp

#endif  // AMP_RUNTIME_DEVICE_CONVOLUTION_SHAPE_H_
