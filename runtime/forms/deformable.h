// DeformConv: a convolution that reads each tap where an offset moved it to, between the elements around that point.
#ifndef AMP_RUNTIME_FORMS_DEFORMABLE_H_
#define AMP_RUNTIME_FORMS_DEFORMABLE_H_

#include <cstddef>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/forms/resample_axis.h"
#include "runtime/forms/window.h"
#include "runtime/kernel/kernel.h"

namespace amp {

// Inputs: x [N, C, ...], w [M, C / groups, ...], offset [N, offset groups * taps * axes, outputs], bias [M],
// mask [N, offset groups * taps, outputs].
enum DeformablePort : size_t { kDeformableX, kDeformableW, kDeformableOffset, kDeformableBias, kDeformableMask };

struct DeformableForm {
  Window window;
  size_t batch = 0, channels = 0, filters = 0, groups = 1, offset_groups = 1;
  size_t taps = 0, positions = 0, image_size = 0;  // elements of one channel
  Dims dims;                                       // of the output

  size_t num_axes() const { return window.size(); }
  size_t channels_in_offset_group() const { return channels / offset_groups; }
  // Where the numbers of a tap of an offset group of a sample begin: in the mask, and times num_axes() in the offsets.
  size_t FirstOfTap(size_t sample, size_t offset_group, size_t tap) const {
    return ((sample * offset_groups + offset_group) * taps + tap) * positions;
  }
};

// Errors: shapes and attributes that do not fit each other. REQUIRES: the first three inputs.
absl::StatusOr<DeformableForm> ReadDeformable(const KernelContext& context);

// Returns the elements within a channel that `tap` reads at positions [first, first + count): those around each point
// that lie within the image. `offsets`: those of this tap, [axes, positions].
WeightedElements ElementsOfTap(const DeformableForm& form, const double* offsets, size_t tap, size_t first,
                               size_t count);
// How many positions to treat at a time, so that their elements are a few thousand at most.
size_t PositionsAtOnce(const DeformableForm& form);

}  // namespace amp

#endif  // AMP_RUNTIME_FORMS_DEFORMABLE_H_
