// What a Resize or Upsample node of any version asks for: one ResampledAxis for every axis of X.
//
// Where a scale gives the length, it is floor(scale * length) in float32, as ONNX's shape inference has it; coordinates
// follow the scale and not the rounded length. Upsample and Resize-10 have no choice of coordinates: they count from the
// corner (kAsymmetric) and round down where they enlarge, up where they shrink.
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
  // Axes that become shorter come first, so that what lies between is never larger than input and output.
  std::vector<size_t> BestOrder() const;
  // The same for a tensor's axes in the order in which they lie in memory.
  Resampling InMemory(Layout layout) const;
};

// Errors: scales, sizes and regions that do not fit; a choice that the schema does not know.
absl::StatusOr<Resampling> ReadResize(const KernelContext& context);
absl::StatusOr<Resampling> ReadUpsample(const KernelContext& context);

}  // namespace amp

#endif  // AMP_RUNTIME_FORMS_RESAMPLING_H_
