#include "runtime/forms/grid_sample.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "runtime/forms/point_taps.h"
#include "runtime/kernel/shape_math.h"

namespace amp {
namespace {

// Mirrors x at both ends until it is between them.
double Reflect(double x, double low, double high) {
  if (x >= low && x <= high) return x;
  const double range = high - low;
  if (range <= 0) return low;
  const double folded = std::fmod(std::fabs(x - low), 2 * range);
  return low + (folded <= range ? folded : 2 * range - folded);
}

// Brings a position into the image, or leaves it where it is: padding with zeros.
double Pad(double x, int64_t length, const GridSampleForm& form) {
  const auto last = static_cast<double>(length - 1);
  const double margin = form.align_corners ? 0 : 0.5;
  if (form.padding == GridPadding::kBorder) return x < -margin || x > last + margin ? std::clamp(x, 0.0, last) : x;
  if (form.padding == GridPadding::kReflection) return Reflect(x, -margin, last + margin);
  return x;
}

double ToPosition(double normalized, int64_t length, bool align_corners) {
  const auto n = static_cast<double>(length);
  const double x = align_corners ? (normalized + 1) / 2 * (n - 1) : ((normalized + 1) * n - 1) / 2;
  // Numbers that cannot be counted, and none at all, are far away from the image.
  constexpr double kFar = 1e15;
  return x >= -kFar ? std::min(x, kFar) : -kFar;
}

// Keys' cubic convolution with a = -0.75.
double CubicWeight(double distance) {
  constexpr double a = -0.75;
  const double x = std::fabs(distance);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

// `at`: a whole number.
void AddTap(double at, double weight, int64_t length, const GridSampleForm& form, AxisTaps& taps) {
  const double padded = at >= 0 && at < static_cast<double>(length) ? at : Pad(at, length, form);
  if (padded <= -1 || padded > static_cast<double>(length - 1)) return;
  taps.Add(static_cast<int64_t>(padded), weight);
}

AxisTaps TapsAlongAxis(double normalized, int64_t length, const GridSampleForm& form) {
  AxisTaps taps;
  const double position = ToPosition(normalized, length, form.align_corners);
  if (form.interpolation == Interpolation::kNearest) {
    AddTap(std::nearbyint(position), 1, length, form, taps);
    return taps;
  }
  const double x = Pad(position, length, form), floor = std::floor(x);
  if (form.interpolation == Interpolation::kLinear) {
    for (const double at : {floor, floor + 1}) AddTap(at, 1 - std::fabs(x - at), length, form, taps);
  } else {
    for (const double at : {floor - 1, floor, floor + 1, floor + 2}) {
      AddTap(at, CubicWeight(x - at), length, form, taps);
    }
  }
  return taps;
}

// Sets the two taps between which a position lies and returns true, if both are in the image: no padding is asked
// about.
bool SetTapsWithin(double normalized, int64_t length, const GridSampleForm& form, AxisTaps& taps) {
  const double x = ToPosition(normalized, length, form.align_corners);
  if (!(x >= 0 && x < static_cast<double>(length - 1))) return false;
  const auto floor = static_cast<int64_t>(x);
  const auto low = static_cast<double>(floor);
  taps.taps[0] = {floor, 1 - (x - low)};
  taps.taps[1] = {floor + 1, 1 - (low + 1 - x)};
  taps.count = 2;
  return true;
}

absl::StatusOr<Interpolation> ReadMode(const Node& node) {
  const std::string mode = GetString(node, "mode", "linear");
  if (mode == "linear" || mode == "bilinear") return Interpolation::kLinear;
  if (mode == "nearest") return Interpolation::kNearest;
  if (mode == "cubic" || mode == "bicubic") return Interpolation::kCubic;
  return ModelError("expected mode linear, nearest or cubic, found '", Escaped(mode), "'");
}

absl::StatusOr<GridPadding> ReadPadding(const Node& node) {
  const std::string padding = GetString(node, "padding_mode", "zeros");
  if (padding == "zeros") return GridPadding::kZeros;
  if (padding == "border") return GridPadding::kBorder;
  if (padding == "reflection") return GridPadding::kReflection;
  return ModelError("expected padding_mode zeros, border or reflection, found '", Escaped(padding), "'");
}

}  // namespace

absl::StatusOr<GridSampleForm> ReadGridSample(const KernelContext& context) {
  const Tensor &x = context.Input(0), &grid = context.Input(1);
  GridSampleForm form;
  AMP_ASSIGN_OR_RETURN(form.interpolation, ReadMode(context.node()));
  AMP_ASSIGN_OR_RETURN(form.padding, ReadPadding(context.node()));
  form.align_corners = GetInt(context.node(), "align_corners", 0) != 0;
  const bool fits = x.rank() >= 3 && grid.rank() == x.rank() && grid.dim(0) == x.dim(0) &&
                    grid.dim(grid.rank() - 1) == static_cast<int64_t>(x.rank() - 2);
  if (!fits) {
    return ModelError("expected X[N,C,D...] and grid[N,...,r], found ", x.TypeText(), " and ", grid.TypeText());
  }
  form.image.assign(x.dims().begin() + 2, x.dims().end());
  form.dims = {x.dim(0), x.dim(1)};
  form.dims.insert(form.dims.end(), grid.dims().begin() + 1, grid.dims().end() - 1);
  const bool gives_elements = std::find(form.dims.begin(), form.dims.end(), 0) == form.dims.end();
  if (gives_elements && x.num_elements() == 0) return ModelError("expected elements to sample, found ", x.TypeText());
  if (!gives_elements) return form;
  form.batch = static_cast<size_t>(x.dim(0));
  form.channels = static_cast<size_t>(x.dim(1));
  form.num_points = static_cast<size_t>(ElementsBetween(form.dims, 2, form.dims.size()));
  form.image_size = static_cast<size_t>(ElementsBetween(x.dims(), 2, x.rank()));
  return form;
}

size_t PointsAtOnce(const GridSampleForm& form) { return PointsAtOnce(form.image.size(), AxisTaps::kMost); }

WeightedElements ElementsOfPoints(const GridSampleForm& form, absl::Span<const double> points) {
  const size_t rank = form.image.size(), count = points.size() / rank;
  const bool is_linear = form.interpolation == Interpolation::kLinear;
  PointElements elements(form.image, count);
  for (size_t p = 0; p < count; ++p) {
    for (size_t i = 0; i < rank; ++i) {
      const double normalized = points[(p + 1) * rank - 1 - i];
      AxisTaps& taps = elements.axes()[i];
      if (is_linear && SetTapsWithin(normalized, form.image[i], form, taps)) continue;
      taps = TapsAlongAxis(normalized, form.image[i], form);
    }
    elements.Add();
  }
  return elements.Take();
}

}  // namespace amp
