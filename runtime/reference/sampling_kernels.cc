// GridSample of any number of spatial dimensions, and AffineGrid, which makes grids for it.
//
// A point of the grid is a position in the image, [-1, 1] along each axis, the last axis first. Its value is a sum over
// taps, elements of the image with weights: the product of a few taps along each axis. Points are found once for all
// channels.
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "runtime/kernel/doubles.h"
#include "runtime/kernel/shape_math.h"
#include "runtime/reference/families.h"

namespace amp {
namespace {

enum class Mode { kNearest, kLinear, kCubic };
enum class Padding { kZeros, kBorder, kReflection };

struct GridOptions {
  Mode mode = Mode::kLinear;
  Padding padding = Padding::kZeros;
  bool align_corners = false;
};

struct Tap {
  int64_t at = 0;  // an index along an axis; or an element within a channel
  double weight = 1;
};
using Taps = std::vector<Tap>;

absl::StatusOr<GridOptions> ReadOptions(const Node& node) {
  GridOptions options;
  const std::string mode = GetString(node, "mode", "linear"), padding = GetString(node, "padding_mode", "zeros");
  if (mode == "nearest") {
    options.mode = Mode::kNearest;
  } else if (mode == "cubic" || mode == "bicubic") {
    options.mode = Mode::kCubic;
  } else if (mode != "linear" && mode != "bilinear") {
    return ModelError("expected mode linear, nearest or cubic, found '", Escaped(mode), "'");
  }
  if (padding == "border") {
    options.padding = Padding::kBorder;
  } else if (padding == "reflection") {
    options.padding = Padding::kReflection;
  } else if (padding != "zeros") {
    return ModelError("expected padding_mode zeros, border or reflection, found '", Escaped(padding), "'");
  }
  options.align_corners = GetInt(node, "align_corners", 0) != 0;
  return options;
}

// Mirrors x at both ends until it is between them.
double Reflect(double x, double low, double high) {
  if (x >= low && x <= high) return x;
  const double range = high - low;
  if (range <= 0) return low;
  const double folded = std::fmod(std::fabs(x - low), 2 * range);
  return low + (folded <= range ? folded : 2 * range - folded);
}

// Brings a position into the image, or leaves it where it is: padding with zeros.
double Pad(double x, int64_t length, const GridOptions& options) {
  const auto last = static_cast<double>(length - 1);
  const double margin = options.align_corners ? 0 : 0.5;
  if (options.padding == Padding::kBorder) {
    return x < -margin || x > last + margin ? std::clamp(x, 0.0, last) : x;
  }
  if (options.padding == Padding::kReflection) return Reflect(x, -margin, last + margin);
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

// Different elements of the image; those that padding makes the same are one.
void AddTap(double at, double weight, int64_t length, const GridOptions& options, Taps& taps) {
  const double padded = Pad(at, length, options);  // a whole number, as `at` is
  if (padded <= -1 || padded > static_cast<double>(length - 1)) return;
  const auto index = static_cast<int64_t>(padded);
  for (Tap& tap : taps) {
    if (tap.at == index) {
      tap.weight += weight;
      return;
    }
  }
  taps.push_back({index, weight});
}

Taps TapsAlongAxis(double normalized, int64_t length, const GridOptions& options) {
  Taps taps;
  const double position = ToPosition(normalized, length, options.align_corners);
  if (options.mode == Mode::kNearest) {
    AddTap(std::nearbyint(position), 1, length, options, taps);
    return taps;
  }
  const double x = Pad(position, length, options), floor = std::floor(x);
  if (options.mode == Mode::kLinear) {
    for (const double at : {floor, floor + 1}) AddTap(at, 1 - std::fabs(x - at), length, options, taps);
  } else {
    for (const double at : {floor - 1, floor, floor + 1, floor + 2}) {
      AddTap(at, CubicWeight(x - at), length, options, taps);
    }
  }
  return taps;
}

// The elements of a channel that a point is made of. `point`: one coordinate per spatial axis, the last axis first.
Taps TapsOfPoint(absl::Span<const double> point, absl::Span<const int64_t> image, const GridOptions& options) {
  Taps product = {{0, 1}};
  for (size_t i = 0; i < image.size(); ++i) {
    const Taps along = TapsAlongAxis(point[image.size() - 1 - i], image[i], options);
    Taps next;
    for (const Tap& outer : product) {
      for (const Tap& inner : along) next.push_back({outer.at * image[i] + inner.at, outer.weight * inner.weight});
    }
    product = std::move(next);
  }
  return product;
}

struct Sampling {
  const Tensor& x;
  std::vector<double> grid;
  GridOptions options;
  size_t batch, channels, num_points, image_size;
  Dims image;

  // Calls visit(input channel's first element, output element, taps) for every output element.
  template <typename Visit>
  void ForEachElement(Visit visit) const {
    for (size_t n = 0; n < batch; ++n) {
      for (size_t p = 0; p < num_points; ++p) {
        const auto point = absl::MakeSpan(grid).subspan((n * num_points + p) * image.size(), image.size());
        const Taps taps = TapsOfPoint(point, image, options);
        for (size_t c = n * channels; c < (n + 1) * channels; ++c) visit(c * image_size, c * num_points + p, taps);
      }
    }
  }
};

absl::Status CheckShapes(const Tensor& x, const Tensor& grid) {
  const bool fits = x.rank() >= 3 && grid.rank() == x.rank() && grid.dim(0) == x.dim(0) &&
                    grid.dim(grid.rank() - 1) == static_cast<int64_t>(x.rank() - 2);
  if (!fits)
    return ModelError("expected X[N,C,D...] and grid[N,...,r], found ", x.TypeText(), " and ", grid.TypeText());
  return absl::OkStatus();
}

absl::Status SampleNearest(const Sampling& sampling, KernelContext& context, Tensor& y) {
  const bool known = VisitStorage(y.dtype(), [&]<typename T>(TypeTag<T>) {
    const auto in = sampling.x.elements<T>();
    const auto out = y.mutable_elements<T>();
    sampling.ForEachElement([&](size_t channel, size_t element, const Taps& taps) {
      out[element] = taps.empty() ? T() : in[channel + static_cast<size_t>(taps[0].at)];
    });
  });
  return known ? absl::OkStatus() : context.TypeError(y.dtype());
}

absl::Status Interpolate(const Sampling& sampling, Tensor& y) {
  AMP_ASSIGN_OR_RETURN(const std::vector<double> in, ReadDoubles(sampling.x));
  std::vector<double> out(static_cast<size_t>(y.num_elements()));
  sampling.ForEachElement([&](size_t channel, size_t element, const Taps& taps) {
    for (const Tap& tap : taps) out[element] += tap.weight * in[channel + static_cast<size_t>(tap.at)];
  });
  return WriteDoubles(out, y);
}

absl::Status GridSample(KernelContext& context) {
  const Tensor &x = context.Input(0), &grid = context.Input(1);
  AMP_ASSIGN_OR_RETURN(const GridOptions options, ReadOptions(context.node()));
  AMP_RETURN_IF_ERROR(CheckShapes(x, grid));
  Dims dims = {x.dim(0), x.dim(1)};
  dims.insert(dims.end(), grid.dims().begin() + 1, grid.dims().end() - 1);
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, x.dtype(), dims));
  if (y->num_elements() == 0) return absl::OkStatus();
  if (x.num_elements() == 0) return ModelError("expected elements to sample, found ", x.TypeText());
  AMP_ASSIGN_OR_RETURN(std::vector<double> points, ReadDoubles(grid));
  const Sampling sampling = {.x = x,
                             .grid = std::move(points),
                             .options = options,
                             .batch = static_cast<size_t>(x.dim(0)),
                             .channels = static_cast<size_t>(x.dim(1)),
                             .num_points = static_cast<size_t>(ElementsBetween(dims, 2, dims.size())),
                             .image_size = static_cast<size_t>(ElementsBetween(x.dims(), 2, x.rank())),
                             .image = Dims(x.dims().begin() + 2, x.dims().end())};
  return options.mode == Mode::kNearest ? SampleNearest(sampling, context, *y) : Interpolate(sampling, *y);
}

// Coordinates of an axis' elements: with align_corners the first is at -1 and the last at 1, else their outer edges.
std::vector<double> AxisCoordinates(int64_t length, bool align_corners) {
  std::vector<double> result;
  const auto n = static_cast<double>(length);
  for (int64_t i = 0; i < length; ++i) {
    const auto x = static_cast<double>(i);
    const double aligned = length == 1 ? 0 : 2 * x / (n - 1) - 1;
    result.push_back(align_corners ? aligned : (2 * x + 1) / n - 1);
  }
  return result;
}

absl::StatusOr<Dims> ReadAffineSize(const KernelContext& context) {
  AMP_ASSIGN_OR_RETURN(const std::vector<int64_t> size, context.InputInts(1));
  const Tensor& theta = context.Input(0);
  const auto spatial = static_cast<int64_t>(size.size()) - 2;
  if (spatial != 2 && spatial != 3) return ModelError("expected a size of 4 or 5 numbers, found ", size.size());
  if (theta.dims() != Dims{size[0], spatial, spatial + 1}) {
    return ModelError("expected theta ", DimsText({size[0], spatial, spatial + 1}), ", found ", theta.TypeText());
  }
  return Dims(size.begin() + 2, size.end());
}

// One element of the grid: theta (x, y, 1), where the last axis comes first.
absl::Status AffineGrid(KernelContext& context) {
  const Tensor& theta = context.Input(0);
  const bool align_corners = GetInt(context.node(), "align_corners", 0) != 0;
  AMP_ASSIGN_OR_RETURN(const Dims image, ReadAffineSize(context));
  const size_t rank = image.size();
  Dims dims = {theta.dim(0)};
  dims.insert(dims.end(), image.begin(), image.end());
  dims.push_back(static_cast<int64_t>(rank));
  AMP_ASSIGN_OR_RETURN(Tensor * grid, context.MakeOutput(0, theta.dtype(), dims));
  if (grid->num_elements() == 0) return absl::OkStatus();
  std::vector<std::vector<double>> coordinates;
  for (const int64_t length : image) coordinates.push_back(AxisCoordinates(length, align_corners));
  AMP_ASSIGN_OR_RETURN(const std::vector<double> matrices, ReadDoubles(theta));
  std::vector<double> out;
  for (size_t n = 0; n < static_cast<size_t>(theta.dim(0)); ++n) {
    for (StridedWalk walk(image, {}); !walk.AtEnd(); walk.Next()) {
      for (size_t row = 0; row < rank; ++row) {
        const double* weights = matrices.data() + (n * rank + row) * (rank + 1);
        double sum = weights[rank];
        for (size_t j = 0; j < rank; ++j) {
          const size_t axis = rank - 1 - j;
          sum += weights[j] * coordinates[axis][static_cast<size_t>(walk.index()[axis])];
        }
        out.push_back(sum);
      }
    }
  }
  return WriteDoubles(out, *grid);
}

constexpr KernelRow kRows[] = {
    Refusing({DType::kString, DType::kBool, DType::kComplex64, DType::kComplex128}, {0}, {"GridSample", GridSample}),
    {"AffineGrid", AffineGrid},
};

}  // namespace

absl::Span<const KernelRow> SamplingKernels() { return kRows; }

}  // namespace amp
