#include "runtime/forms/resample_axis.h"

#include <algorithm>
#include <cmath>

namespace amp {
namespace {

// A length along the output as one along the input. Scales are float32, and so is what they divide: 3 / 0.6 is 5, not
// what is just below it. Sizes are exact.
double ToInput(const ResampledAxis& axis, double length) {
  if (axis.is_sized) return length * static_cast<double>(axis.in) / axis.exact_out;
  return static_cast<double>(static_cast<float>(length / axis.scale));
}

double SourcePosition(const ResampledAxis& axis, Coordinates coordinates, int64_t output) {
  const auto x = static_cast<double>(output), last = static_cast<double>(axis.in - 1);
  switch (coordinates) {
    case Coordinates::kHalfPixel:
      return ToInput(axis, x + 0.5) - 0.5;
    case Coordinates::kHalfPixelSymmetric:  // from the middle of the output to that of the input
      return static_cast<double>(axis.in) / 2 + ToInput(axis, x + 0.5 - static_cast<double>(axis.out) / 2) - 0.5;
    case Coordinates::kPytorchHalfPixel:
      return axis.out > 1 ? ToInput(axis, x + 0.5) - 0.5 : 0;
    case Coordinates::kTfHalfPixelForNn:
      return ToInput(axis, x + 0.5);
    case Coordinates::kAlignCorners:
      return axis.exact_out == 1 ? 0 : x * last / (axis.exact_out - 1);
    case Coordinates::kAsymmetric:
      return ToInput(axis, x);
    case Coordinates::kTfCropAndResize: {
      const double part = axis.exact_out == 1 ? 0.5 : x / (axis.exact_out - 1);
      return (axis.start + part * (axis.end - axis.start)) * last;
    }
  }
  return 0;
}

double RoundPosition(double x, Rounding rounding, double scale) {
  switch (rounding) {
    case Rounding::kPreferFloor:
      return std::ceil(x - 0.5);
    case Rounding::kPreferCeil:
      return std::floor(x + 0.5);
    case Rounding::kFloor:
      return std::floor(x);
    case Rounding::kCeil:
      return std::ceil(x);
    case Rounding::kByDirection:
      return scale < 1 ? std::ceil(x) : std::floor(x);
  }
  return x;
}

// The weight of an element at this distance.
double LinearKernel(double distance) { return std::max(0.0, 1 - std::fabs(distance)); }

// Keys' cubic convolution.
double CubicKernel(double distance, double a) {
  const double x = std::fabs(distance);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
  return 0;
}

// Scales weights [first, end) to a sum of 1; all stay 0 where they are.
void Normalize(std::vector<double>& weight, size_t first) {
  double sum = 0;
  for (size_t k = first; k < weight.size(); ++k) sum += weight[k];
  if (sum == 0) return;
  for (size_t k = first; k < weight.size(); ++k) weight[k] /= sum;
}

}  // namespace

std::vector<double> SourcePositions(const ResampledAxis& axis, const ResampleOptions& options) {
  const bool stays = axis.scale == 1 && axis.in == axis.out && options.coordinates != Coordinates::kTfCropAndResize;
  std::vector<double> positions;
  for (int64_t i = 0; i < axis.out; ++i) {
    positions.push_back(stays ? static_cast<double>(i) : SourcePosition(axis, options.coordinates, i));
  }
  return positions;
}

bool IsIdentity(const ResampledAxis& axis, const std::vector<double>& positions) {
  if (axis.in != axis.out) return false;
  for (size_t i = 0; i < positions.size(); ++i) {
    if (positions[i] != static_cast<double>(i)) return false;
  }
  return true;
}

std::vector<int64_t> NearestElements(const ResampledAxis& axis, const std::vector<double>& positions,
                                     const ResampleOptions& options) {
  std::vector<int64_t> elements;
  for (const double position : positions) {
    const double rounded = RoundPosition(position, options.rounding, axis.scale);
    // A position that is no number is 0: the caller has put another value there.
    elements.push_back(rounded >= 0 ? static_cast<int64_t>(std::min(rounded, static_cast<double>(axis.in - 1))) : 0);
  }
  return elements;
}

WeightedElements InterpolationWeights(const ResampledAxis& axis, const std::vector<double>& positions,
                                      const ResampleOptions& options) {
  const double stretch = options.antialias && axis.scale < 1 ? 1 / axis.scale : 1;
  const double reach = stretch * (options.interpolation == Interpolation::kCubic ? 2 : 1);
  const auto last = static_cast<double>(axis.in - 1);
  WeightedElements result;
  result.begin.push_back(0);
  for (const double position : positions) {
    // Held near the input, so that elements are countable; what is further away has the end's value anyway.
    const double x = position > -reach ? std::min(position, last + reach) : -reach;
    const size_t first = result.weight.size();
    for (double at = std::ceil(x - reach); at <= std::floor(x + reach); ++at) {
      const double distance = (at - x) / stretch;
      const double weight = options.interpolation == Interpolation::kCubic ? CubicKernel(distance, options.cubic_a)
                                                                           : LinearKernel(distance);
      const bool is_outside = at < 0 || at > last;
      if (weight == 0 || (is_outside && options.exclude_outside)) continue;
      result.element.push_back(static_cast<int64_t>(std::clamp(at, 0.0, last)));
      result.weight.push_back(weight);
    }
    if (stretch != 1 || options.exclude_outside) Normalize(result.weight, first);
    result.begin.push_back(result.weight.size());
  }
  return result;
}

}  // namespace amp
