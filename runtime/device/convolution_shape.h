// What Conv and ConvTranspose compute, for all kernels of a device that do.
#ifndef AMP_RUNTIME_DEVICE_CONVOLUTION_SHAPE_H_
#define AMP_RUNTIME_DEVICE_CONVOLUTION_SHAPE_H_

#include "absl/status/statusor.h"
#include "runtime/kernel/kernel.h"
#include "runtime/reference/window.h"

namespace amp {

enum class ConvolutionKind { kPlain, kTransposed };

struct ConvolutionShape {
  Window window;                                  // of a transposed one: over the result
  int64_t groups = 1, channels = 0, filters = 0;  // channels and filters of all groups
  Dims y;                                         // [batch, filters, ...]

  // Whether every channel is a group of its own.
  bool IsDepthwise() const { return groups > 1 && groups == channels; }
};

// Of inputs 0, 1 and 2: x, w and perhaps a bias. Errors: what does not fit.
absl::StatusOr<ConvolutionShape> ShapeOfConvolution(const KernelContext& context, ConvolutionKind kind);

// Why no kernel of a device takes the inputs; null where one may, and then the shape is one without errors.
const char* WhyNotConvolution(const KernelContext& context, ConvolutionKind kind);

}  // namespace amp

#endif  // AMP_RUNTIME_DEVICE_CONVOLUTION_SHAPE_H_
