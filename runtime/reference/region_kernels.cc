// Regions of an image as small images of their own: RoiAlign, MaxRoiPool.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "runtime/kernel/doubles.h"
#include "runtime/kernel/shape_math.h"
#include "runtime/reference/families.h"

namespace amp {
namespace {

absl::Status CheckImages(const Tensor& x, const Tensor& rois, int64_t roi_size) {
  if (x.rank() != 4) return ModelError("expected images [N,C,H,W], found ", x.TypeText());
  if (rois.rank() == 2 && rois.dim(1) == roi_size) return absl::OkStatus();
  return ModelError("expected regions [n,", roi_size, "], found ", rois.TypeText());
}

absl::Status CheckImage(const Tensor& x, int64_t image) {
  if (x.num_elements() == 0) return ModelError("expected elements to pool, found ", x.TypeText());
  if (image >= 0 && image < x.dim(0)) return absl::OkStatus();
  return ModelError("expected an image in [0, ", x.dim(0), "), found ", image);
}

// One of the points of RoiAlign along an axis: between two elements, or outside of the image.
struct SamplePoint {
  size_t low = 0, high = 0;
  double low_weight = 0, high_weight = 0;  // both 0: outside
};

SamplePoint MakePoint(double x, int64_t length) {
  if (!(x >= -1 && x <= static_cast<double>(length))) return {};
  x = std::max(x, 0.0);
  const auto last = static_cast<size_t>(length - 1);
  const auto low = static_cast<size_t>(x);
  if (low >= last) return {.low = last, .high = last, .low_weight = 1};
  const double part = x - static_cast<double>(low);
  return {.low = low, .high = low + 1, .low_weight = 1 - part, .high_weight = part};
}

// A region along one axis, cut into bins.
struct BinnedRange {
  double start = 0, bin_size = 0;
  int64_t points_per_bin = 0;
  int64_t image_length = 0;

  std::vector<SamplePoint> Points(int64_t bin) const {
    std::vector<SamplePoint> points;
    for (int64_t i = 0; i < points_per_bin; ++i) {
      const double offset = (static_cast<double>(i) + 0.5) / static_cast<double>(points_per_bin);
      points.push_back(MakePoint(start + (static_cast<double>(bin) + offset) * bin_size, image_length));
    }
    return points;
  }
};

struct AlignOptions {
  int64_t height = 1, width = 1, sampling_ratio = 0;
  double scale = 1;
  bool half_pixel = true, max = false;
};

absl::StatusOr<AlignOptions> ReadAlignOptions(const KernelContext& context) {
  constexpr int kHasCoordinates = 16;
  const Node& node = context.node();
  AlignOptions options = {.height = GetInt(node, "output_height", 1),
                          .width = GetInt(node, "output_width", 1),
                          .sampling_ratio = GetInt(node, "sampling_ratio", 0),
                          .scale = GetFloat(node, "spatial_scale", 1)};
  const std::string mode = GetString(node, "mode", "avg");
  const std::string coordinates = context.version() < kHasCoordinates
                                      ? "output_half_pixel"
                                      : GetString(node, "coordinate_transformation_mode", "half_pixel");
  options.max = mode == "max";
  options.half_pixel = coordinates == "half_pixel";
  if (mode != "avg" && mode != "max") return ModelError("expected mode avg or max, found '", Escaped(mode), "'");
  if (coordinates != "half_pixel" && coordinates != "output_half_pixel") {
    return ModelError("expected half_pixel or output_half_pixel coordinates, found '", Escaped(coordinates), "'");
  }
  if (options.height < 1 || options.width < 1 || options.sampling_ratio < 0) {
    return ModelError("expected an output of at least 1 x 1 and a sampling_ratio of at least 0, found ", options.height,
                      " x ", options.width, " and ", options.sampling_ratio);
  }
  return options;
}

absl::StatusOr<BinnedRange> MakeRange(double from, double to, int64_t bins, int64_t image_length,
                                      const AlignOptions& options) {
  constexpr double kMaxPoints = 1 << 15;  // per bin and axis: far more than any detector takes
  const double offset = options.half_pixel ? 0.5 : 0;
  BinnedRange range = {.start = from * options.scale - offset, .image_length = image_length};
  double size = to * options.scale - offset - range.start;
  if (!options.half_pixel) size = std::max(size, 1.0);  // the old way: regions of no size are 1 x 1
  range.bin_size = size / static_cast<double>(bins);
  const double points =
      options.sampling_ratio > 0 ? static_cast<double>(options.sampling_ratio) : std::ceil(range.bin_size);
  if (!(points <= kMaxPoints)) {
    return LimitError("expected at most ", kMaxPoints, " points per bin, found a region from ", from, " to ", to,
                      " with ", points);
  }
  range.points_per_bin = static_cast<int64_t>(std::max(points, 0.0));
  return range;
}

// The mean of all points, or the largest of the weighted elements around them.
double PoolPoints(const double* image, size_t width, absl::Span<const SamplePoint> rows,
                  absl::Span<const SamplePoint> columns, bool max) {
  double result = max ? -std::numeric_limits<double>::infinity() : 0;
  for (const SamplePoint& y : rows) {
    const double *low = image + y.low * width, *high = image + y.high * width;
    for (const SamplePoint& x : columns) {
      const bool is_outside = (y.low_weight == 0 && y.high_weight == 0) || (x.low_weight == 0 && x.high_weight == 0);
      const double corners[] = {
          is_outside ? 0 : y.low_weight * x.low_weight * low[x.low],
          is_outside ? 0 : y.low_weight * x.high_weight * low[x.high],
          is_outside ? 0 : y.high_weight * x.low_weight * high[x.low],
          is_outside ? 0 : y.high_weight * x.high_weight * high[x.high],
      };
      for (const double corner : corners) result = max ? std::max(result, corner) : result + corner;
    }
  }
  const size_t count = rows.size() * columns.size();
  if (count == 0) return 0;
  return max ? result : result / static_cast<double>(count);
}

// The bins of one region, in all channels of its image. `y`: [C, height, width].
absl::Status AlignRegion(absl::Span<const double> roi, const double* image, const Dims& x_dims,
                         const AlignOptions& options, double* y) {
  const auto channels = static_cast<size_t>(x_dims[1]), width = static_cast<size_t>(x_dims[3]);
  const size_t plane = static_cast<size_t>(x_dims[2]) * width;
  const auto bins = static_cast<size_t>(options.height * options.width);
  AMP_ASSIGN_OR_RETURN(const BinnedRange down, MakeRange(roi[1], roi[3], options.height, x_dims[2], options));
  AMP_ASSIGN_OR_RETURN(const BinnedRange across, MakeRange(roi[0], roi[2], options.width, x_dims[3], options));
  size_t bin = 0;
  for (int64_t i = 0; i < options.height; ++i) {
    const std::vector<SamplePoint> rows = down.Points(i);
    for (int64_t j = 0; j < options.width; ++j, ++bin) {
      const std::vector<SamplePoint> columns = across.Points(j);
      for (size_t c = 0; c < channels; ++c) {
        y[c * bins + bin] = PoolPoints(image + c * plane, width, rows, columns, options.max);
      }
    }
  }
  return absl::OkStatus();
}

absl::Status RoiAlign(KernelContext& context) {
  const Tensor &x = context.Input(0), &regions = context.Input(1);
  AMP_ASSIGN_OR_RETURN(const AlignOptions options, ReadAlignOptions(context));
  AMP_RETURN_IF_ERROR(CheckImages(x, regions, 4));
  AMP_ASSIGN_OR_RETURN(const std::vector<int64_t> images, context.InputInts(2));
  if (static_cast<int64_t>(images.size()) != regions.dim(0)) {
    return ModelError("expected ", regions.dim(0), " batch_indices, found ", images.size());
  }
  AMP_ASSIGN_OR_RETURN(Tensor * y,
                       context.MakeOutput(0, x.dtype(), {regions.dim(0), x.dim(1), options.height, options.width}));
  if (y->num_elements() == 0) return absl::OkStatus();
  AMP_ASSIGN_OR_RETURN(const std::vector<double> in, ReadDoubles(x));
  AMP_ASSIGN_OR_RETURN(const std::vector<double> rois, ReadDoubles(regions));
  std::vector<double> out(static_cast<size_t>(y->num_elements()));
  const size_t per_region = out.size() / images.size();
  const auto per_image = static_cast<size_t>(ElementsBetween(x.dims(), 1, x.rank()));
  for (size_t i = 0; i < images.size(); ++i) {
    AMP_RETURN_IF_ERROR(CheckImage(x, images[i]));
    AMP_RETURN_IF_ERROR(AlignRegion(absl::MakeSpan(rois).subspan(4 * i, 4),
                                    in.data() + static_cast<size_t>(images[i]) * per_image, x.dims(), options,
                                    out.data() + i * per_region));
  }
  return WriteDoubles(out, *y);
}

// The elements of bin `bin` along an axis: whole ones, and at least one element of the region, unless that is outside.
struct ElementRange {
  int64_t first = 0, end = 0;
};
ElementRange BinElements(double from, double to, int64_t bin, int64_t bins, int64_t image_length) {
  constexpr double kFar = 1 << 30;  // no image is that large; and products below fit
  const auto start = static_cast<int64_t>(std::round(std::clamp(from, -kFar, kFar)));
  const auto end = static_cast<int64_t>(std::round(std::clamp(to, -kFar, kFar)));
  const int64_t size = std::max<int64_t>(end - start + 1, 1);
  const int64_t first = start + bin * size / bins, last = start + ((bin + 1) * size + bins - 1) / bins;
  return {std::clamp<int64_t>(first, 0, image_length), std::clamp<int64_t>(last, 0, image_length)};
}

double LargestWithin(const double* image, size_t width, ElementRange rows, ElementRange columns) {
  if (rows.first >= rows.end || columns.first >= columns.end) return 0;
  double largest = -std::numeric_limits<double>::infinity();
  for (int64_t i = rows.first; i < rows.end; ++i) {
    for (int64_t j = columns.first; j < columns.end; ++j) {
      const double element = image[static_cast<size_t>(i) * width + static_cast<size_t>(j)];
      if (element > largest || std::isnan(element)) largest = element;
    }
  }
  return largest;
}

// A region is [image, x1, y1, x2, y2].
absl::Status PoolRegion(absl::Span<const double> roi, absl::Span<const double> in, const Tensor& x, double scale,
                        absl::Span<const int64_t> bins, double* y) {
  if (!std::isfinite(scale) ||
      !std::all_of(roi.begin(), roi.end(), [](double value) { return std::isfinite(value); })) {
    return ModelError("expected finite regions and a finite spatial_scale, found NaN or infinity");
  }
  const auto image = static_cast<int64_t>(std::clamp(roi[0], -1.0, static_cast<double>(kMaxElements)));
  AMP_RETURN_IF_ERROR(CheckImage(x, image));
  const auto channels = static_cast<size_t>(x.dim(1)), width = static_cast<size_t>(x.dim(3));
  const size_t plane = static_cast<size_t>(x.dim(2)) * width;
  const double* first = in.data() + static_cast<size_t>(image) * channels * plane;
  for (size_t c = 0; c < channels; ++c) {
    for (int64_t i = 0; i < bins[0]; ++i) {
      const ElementRange rows = BinElements(roi[2] * scale, roi[4] * scale, i, bins[0], x.dim(2));
      for (int64_t j = 0; j < bins[1]; ++j) {
        const ElementRange columns = BinElements(roi[1] * scale, roi[3] * scale, j, bins[1], x.dim(3));
        *y++ = LargestWithin(first + c * plane, width, rows, columns);
      }
    }
  }
  return absl::OkStatus();
}

absl::Status MaxRoiPool(KernelContext& context) {
  const Tensor &x = context.Input(0), &regions = context.Input(1);
  AMP_RETURN_IF_ERROR(CheckImages(x, regions, 5));
  const std::vector<int64_t> bins = GetInts(context.node(), "pooled_shape").value_or(std::vector<int64_t>());
  if (bins.size() != 2 || bins[0] < 1 || bins[1] < 1) {
    return ModelError("expected a pooled_shape of two sizes of at least 1, found ", DimsText(bins));
  }
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, x.dtype(), {regions.dim(0), x.dim(1), bins[0], bins[1]}));
  if (y->num_elements() == 0) return absl::OkStatus();
  AMP_ASSIGN_OR_RETURN(const std::vector<double> in, ReadDoubles(x));
  AMP_ASSIGN_OR_RETURN(const std::vector<double> rois, ReadDoubles(regions));
  std::vector<double> out(static_cast<size_t>(y->num_elements()));
  const size_t count = rois.size() / 5, per_region = out.size() / count;
  const double scale = GetFloat(context.node(), "spatial_scale", 1);
  for (size_t i = 0; i < count; ++i) {
    const auto roi = absl::MakeSpan(rois).subspan(5 * i, 5);
    AMP_RETURN_IF_ERROR(PoolRegion(roi, in, x, scale, bins, out.data() + i * per_region));
  }
  return WriteDoubles(out, *y);
}

constexpr KernelRow kRows[] = {
    {"RoiAlign", RoiAlign},
    {"MaxRoiPool", MaxRoiPool},
};

}  // namespace

absl::Span<const KernelRow> RegionKernels() { return kRows; }

}  // namespace amp
