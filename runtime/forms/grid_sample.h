// GridSample of any number of spatial dimensions: which elements of an image a point of the grid is made of.
//
// A point is a position in the image, [-1, 1] along each axis, the last axis first. Its value is a weighted sum of
// elements: the product of a few along each axis. Points are the same for all channels.
#ifndef AMP_RUNTIME_FORMS_GRID_SAMPLE_H_
#define AMP_RUNTIME_FORMS_GRID_SAMPLE_H_

#include <cstddef>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/forms/resample_axis.h"
#include "runtime/kernel/kernel.h"

namespace amp {

enum class GridPadding { kZeros, kBorder, kReflection };

struct GridSampleForm {
  Interpolation interpolation = Interpolation::kLinear;
  GridPadding padding = GridPadding::kZeros;
  bool align_corners = false;
  Dims image;                                                      // the spatial axes of the input
  Dims dims;                                                       // of the output
  size_t batch = 0, channels = 0, num_points = 0, image_size = 0;  // points and elements of one channel
};

// Errors: a mode or padding that the schema does not know, shapes that do not fit, points to be sampled of no elements.
absl::StatusOr<GridSampleForm> ReadGridSample(const KernelContext& context);

// How many points to treat at a time, so that their elements are a few thousand at most.
size_t PointsAtOnce(const GridSampleForm& form);

// Returns the elements, within a channel, of each of the points. `points`: [points, spatial axes] numbers. Nearest
// points are one element, or none in the padding with zeros.
WeightedElements ElementsOfPoints(const GridSampleForm& form, absl::Span<const double> points);

}  // namespace amp

#endif  // AMP_RUNTIME_FORMS_GRID_SAMPLE_H_
