#include "runtime/reference/convolution.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "ir/base/status.h"
#include "runtime/forms/convolution.h"
#include "runtime/kernel/shape_math.h"
#include "runtime/reference/accumulator.h"
#include "runtime/reference/matrix_product.h"

namespace amp {
namespace {

constexpr size_t kColumnElements = size_t{1} << 18;  // 2 MB
constexpr size_t kLeastColumns = 4;

// The sizes for both directions. For the transposed one the "image" is the output, and positions are the input's.
struct Sizes {
  size_t batch, groups, channels, filters;  // the latter two: in a group, of the image and beside the columns
  size_t image, taps, positions;

  size_t column() const { return channels * taps; }
  size_t positions_at_once() const {
    return std::min(positions, std::max(kLeastColumns, kColumnElements / std::max<size_t>(1, column())));
  }
  // Where a group, counted over all images, begins in the images, in the weights, and in what is beside the columns.
  size_t ImageAt(size_t group_of_all) const { return group_of_all * channels * image; }
  size_t WeightsAt(size_t group_of_all) const { return group_of_all % groups * filters * column(); }
  size_t ResultsAt(size_t group_of_all) const { return group_of_all * filters * positions; }
};

Sizes SizesOf(const Window& window, int64_t batch, int64_t group, const Tensor& w) {
  Sizes sizes = {.batch = static_cast<size_t>(batch),
                 .groups = static_cast<size_t>(group),
                 .channels = static_cast<size_t>(w.dim(1)),
                 .filters = static_cast<size_t>(w.dim(0) / group),
                 .image = 1,
                 .taps = NumTaps(window),
                 .positions = NumPositions(window)};
  for (const WindowAxis& axis : window) sizes.image *= static_cast<size_t>(axis.input);
  return sizes;
}

// Rows: taps of each channel; a column for each position of a run, `count` of them.
void GatherColumns(const double* images, size_t image, const std::vector<int64_t>& places, absl::Span<double> columns) {
  for (size_t i = 0; i < columns.size(); i += places.size(), images += image) {
    for (size_t j = 0; j < places.size(); ++j) columns[i + j] = places[j] < 0 ? 0 : images[places[j]];
  }
}

void ScatterColumns(absl::Span<const double> columns, const std::vector<int64_t>& places, size_t image,
                    double* images) {
  for (size_t i = 0; i < columns.size(); i += places.size(), images += image) {
    for (size_t j = 0; j < places.size(); ++j) {
      if (places[j] >= 0) images[places[j]] += columns[i + j];
    }
  }
}

// One image's group at a stretch of positions: its columns, and where their elements are in the image.
struct Stretch {
  size_t group, first, count;  // group: of all images; positions from `first` on
  const std::vector<int64_t>& places;
  absl::Span<double> columns;
};

// Visits all groups of all images, a stretch of positions after the other. The columns are what the visit before left.
template <typename Visit>
void ForEachStretch(const Window& window, const Sizes& sizes, const Visit& visit) {
  const size_t at_once = sizes.positions_at_once();
  std::vector<double> columns(sizes.column() * at_once);
  for (size_t first = 0; first < sizes.positions; first += at_once) {
    const size_t count = std::min(at_once, sizes.positions - first);
    const std::vector<int64_t> places = TapPlaces(window, first, count);
    const auto used = absl::MakeSpan(columns).first(sizes.column() * count);
    for (size_t group = 0; group < sizes.batch * sizes.groups; ++group) visit({group, first, count, places, used});
  }
}

void ConvolveAll(const Window& window, const Sizes& sizes, const double* x, const double* w, double* y) {
  const size_t column = sizes.column();
  ForEachStretch(window, sizes, [&](const Stretch& at) {
    GatherColumns(x + sizes.ImageAt(at.group), sizes.image, at.places, at.columns);
    AddMatrixProduct<double>(
        {{w + sizes.WeightsAt(at.group), column}, {at.columns.data(), at.count}, sizes.filters, column, at.count},
        {y + sizes.ResultsAt(at.group) + at.first, sizes.positions});
  });
}

void ConvolveAllTransposed(const Window& window, const Sizes& sizes, const double* x, const double* w, double* y) {
  const size_t column = sizes.column();
  ForEachStretch(window, sizes, [&](const Stretch& at) {
    std::fill(at.columns.begin(), at.columns.end(), 0);
    const MatrixView<const double> filters = {w + sizes.WeightsAt(at.group), 1, column};
    const MatrixView<const double> inputs = {x + sizes.ResultsAt(at.group) + at.first, sizes.positions};
    AddMatrixProduct<double>({filters, inputs, column, sizes.filters, at.count}, {at.columns.data(), at.count});
    ScatterColumns(at.columns, at.places, sizes.image, y + sizes.ImageAt(at.group));
  });
}

// w[filters, column] += g[filters, positions] columns[column, positions]^T, group by group.
void ConvolveAllForWeights(const Window& window, const Sizes& sizes, const double* x, const double* g, double* w) {
  const size_t column = sizes.column();
  ForEachStretch(window, sizes, [&](const Stretch& at) {
    GatherColumns(x + sizes.ImageAt(at.group), sizes.image, at.places, at.columns);
    const MatrixView<const double> results = {g + sizes.ResultsAt(at.group) + at.first, sizes.positions};
    AddMatrixProduct<double>({results, {at.columns.data(), 1, at.count}, sizes.filters, at.count, column},
                             {w + sizes.WeightsAt(at.group), column});
  });
}

Dims ImageDims(const Window& window, int64_t batch, int64_t channels) {
  Dims dims = {batch, channels};
  for (const WindowAxis& axis : window) dims.push_back(axis.input);
  return dims;
}

}  // namespace

absl::StatusOr<Tensor> Convolve(const Node& node, const Tensor& x, const Tensor& w) {
  AMP_RETURN_IF_ERROR(CheckConvolution(node, x, w));
  AMP_ASSIGN_OR_RETURN(const int64_t group, ReadGroup(node, x.dim(1)));
  if (w.dim(1) != x.dim(1) / group || w.dim(0) % group != 0) {
    return ModelError("expected W [M, C / group, ..] with M divided by group ", group, ", found X ", x.TypeText(),
                      " and W ", w.TypeText());
  }
  AMP_ASSIGN_OR_RETURN(const Window window, SlideWindow(node, SpatialDims(x), SpatialDims(w)));
  AMP_ASSIGN_OR_RETURN(Tensor y, FilledFloat64(OutputDims(window, x.dim(0), w.dim(0)), 0));
  if (y.num_elements() == 0 || x.num_elements() == 0) return y;
  ConvolveAll(window, SizesOf(window, x.dim(0), group, w), Doubles(x).data(), Doubles(w).data(),
              y.mutable_elements<double>().data());
  return y;
}

absl::StatusOr<Tensor> ConvolveTransposed(const Node& node, const Tensor& x, const Tensor& w) {
  AMP_RETURN_IF_ERROR(CheckConvolution(node, x, w));
  AMP_ASSIGN_OR_RETURN(const int64_t group, ReadGroup(node, x.dim(1)));
  if (w.dim(0) != x.dim(1)) {
    return ModelError("expected W [C, M / group, ..], found X ", x.TypeText(), " and W ", w.TypeText());
  }
  int64_t filters = 0;
  if (__builtin_mul_overflow(w.dim(1), group, &filters)) return LimitError("expected fewer output channels");
  AMP_ASSIGN_OR_RETURN(const Window window, SlideWindowOverOutput(node, x, w));
  AMP_ASSIGN_OR_RETURN(Tensor y, FilledFloat64(ImageDims(window, x.dim(0), filters), 0));
  if (y.num_elements() == 0 || x.num_elements() == 0) return y;
  ConvolveAllTransposed(window, SizesOf(window, x.dim(0), group, w), Doubles(x).data(), Doubles(w).data(),
                        y.mutable_elements<double>().data());
  return y;
}

absl::StatusOr<Tensor> ConvolveForWeights(const Node& node, const Tensor& x, const Tensor& g) {
  AMP_ASSIGN_OR_RETURN(const Window window, SlideWindowForWeights(node, x, g));
  AMP_ASSIGN_OR_RETURN(const int64_t group, ReadGroup(node, x.dim(1)));
  if (g.dim(1) % group != 0) return ModelError("expected channels divided by group ", group, ", found ", g.TypeText());
  Dims dims = {g.dim(1), x.dim(1) / group};
  for (const WindowAxis& axis : window) dims.push_back(axis.kernel);
  AMP_ASSIGN_OR_RETURN(Tensor w, FilledFloat64(std::move(dims), 0));
  if (w.num_elements() == 0 || x.num_elements() == 0 || g.num_elements() == 0) return w;
  ConvolveAllForWeights(window, SizesOf(window, x.dim(0), group, w), Doubles(x).data(), Doubles(g).data(),
                        w.mutable_elements<double>().data());
  return w;
}

absl::Status AddBias(const Tensor& bias, Tensor& y) {
  if (bias.rank() != 1 || bias.dim(0) != y.dim(1)) {
    return ModelError("expected a bias [", y.dim(1), "], found ", bias.TypeText());
  }
  const auto channels = static_cast<size_t>(y.dim(1));
  const auto out = y.mutable_elements<double>();
  if (out.empty()) return absl::OkStatus();
  const size_t image = out.size() / channels / static_cast<size_t>(y.dim(0));
  for (size_t i = 0; i < out.size(); ++i) out[i] += Doubles(bias)[i / image % channels];
  return absl::OkStatus();
}

}  // namespace amp
