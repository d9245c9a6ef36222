// Resize and Upsample of any version, as one ResampledAxis for every axis of X.
//
// If a scale gives the length, that is floor(scale * length) in float32, as in ONNX's shape inference; coordinates
// follow the scale and not the rounded length. Upsample and Resize-10 have no choice of coordinates: they count from
// the corner (kAsymmetric), round down if they enlarge, and up if they shrink.
#ifndef AMP_RUNTIME_FORMS_RESAMPLING_H_
#define AMP_RUNTIME_FORMS_RESAMPLING_H_

#include <cstddef>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/forms/resample_axis.h"
#include "runtime/kernel/kernel.h"

namespace amp {

struct Resampling {
  std::vector<ResampledAxis> axes;  // of X, all
  ResampleOptions options;
  double extrapolation_value = 0;

  Dims OutputDims() const;
  // The order in which axes are resampled: those that become shorter first, so that no tensor on the way is larger than
  // the input and the output.
  std::vector<size_t> BestOrder() const;
  // This resampling with its axes in the order in which a tensor of that layout has them in memory.
  Resampling InMemory(Layout layout) const;
};

// Errors: scales, sizes and regions that do not fit; a choice that the schema does not know.
absl::StatusOr<Resampling> ReadResize(const KernelContext& context);
absl::StatusOr<Resampling> ReadUpsample(const KernelContext& context);

}  // namespace amp

#endif  // AMP_RUNTIME_FORMS_RESAMPLING_H_
