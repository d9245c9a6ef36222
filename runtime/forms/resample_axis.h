// How Resize and Upsample treat one axis: which elements of the input make an element of the output, with what weights.
//
// Resizing is separable: every axis is resampled on its own, one after another. Half-pixel coordinates, 4 -> 2, linear:
//
//   output 0 is at 0.5: 0.5 x[0] + 0.5 x[1]      output 1 is at 2.5: 0.5 x[2] + 0.5 x[3]
//
// Elements beyond the ends are those at the ends.
#ifndef AMP_RUNTIME_FORMS_RESAMPLE_AXIS_H_
#define AMP_RUNTIME_FORMS_RESAMPLE_AXIS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace amp {

enum class Coordinates {
  kHalfPixel,
  kHalfPixelSymmetric,
  kPytorchHalfPixel,
  kTfHalfPixelForNn,
  kAlignCorners,
  kAsymmetric,
  kTfCropAndResize,
};
enum class Rounding {
  kPreferFloor,
  kPreferCeil,
  kFloor,
  kCeil,
  kByDirection,  // what Upsample and Resize did before they had a choice: down when they enlarge, else up
};
enum class Interpolation { kNearest, kLinear, kCubic };

struct ResampleOptions {
  Interpolation interpolation = Interpolation::kNearest;
  Coordinates coordinates = Coordinates::kHalfPixel;
  Rounding rounding = Rounding::kPreferFloor;
  double cubic_a = -0.75;
  bool antialias = false, exclude_outside = false;
};

struct ResampledAxis {
  int64_t in = 0, out = 0;
  double scale = 1;
  bool is_sized = false;      // the node states `out` itself, not the scale
  double exact_out = 0;       // before it was rounded to `out`
  double start = 0, end = 1;  // the part that is kept, where coordinates are kTfCropAndResize; 1 is the last element
};

// Where output elements are among those of the input; not necessarily within them. What is not resized stays, even
// where coordinates would move it (kTfHalfPixelForNn).
std::vector<double> SourcePositions(const ResampledAxis& axis, const ResampleOptions& options);
// Whether the axis stays as it is.
bool IsIdentity(const ResampledAxis& axis, const std::vector<double>& positions);

// The one element that each output is, in [0, in). REQUIRES: in > 0.
std::vector<int64_t> NearestElements(const ResampledAxis& axis, const std::vector<double>& positions,
                                     const ResampleOptions& options);

// Output i is the sum of weight[k] * x[element[k]] for k in [begin[i], begin[i + 1]).
struct WeightedElements {
  std::vector<size_t> begin;
  std::vector<int64_t> element;
  std::vector<double> weight;
};
// REQUIRES: in > 0; linear or cubic.
WeightedElements InterpolationWeights(const ResampledAxis& axis, const std::vector<double>& positions,
                                      const ResampleOptions& options);

}  // namespace amp

#endif  // AMP_RUNTIME_FORMS_RESAMPLE_AXIS_H_
