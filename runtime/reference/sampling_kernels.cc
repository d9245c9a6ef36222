// GridSample of any number of spatial dimensions, and AffineGrid, which makes grids for it.
#include <algorithm>
#include <vector>

#include "runtime/forms/grid_sample.h"
#include "runtime/kernel/doubles.h"
#include "runtime/kernel/shape_math.h"
#include "runtime/reference/families.h"

namespace amp {
namespace {

// Calls visit(input channel's first element, output element, point of the block) for every output element.
template <typename Visit>
void VisitBlock(const GridSampleForm& form, size_t sample, size_t first, size_t count, Visit visit) {
  for (size_t c = sample * form.channels; c < (sample + 1) * form.channels; ++c) {
    for (size_t p = 0; p < count; ++p) visit(c * form.image_size, c * form.num_points + first + p, p);
  }
}

// Visits the output elements of all blocks so; `visit` is given the block's elements, too.
template <typename Visit>
void VisitPoints(const GridSampleForm& form, absl::Span<const double> grid, Visit visit) {
  const size_t at_once = PointsAtOnce(form), axes = form.image.size();
  for (size_t n = 0; n < form.batch; ++n) {
    const auto points = grid.subspan(n * form.num_points * axes, form.num_points * axes);
    for (size_t first = 0; first < form.num_points; first += at_once) {
      const size_t count = std::min(at_once, form.num_points - first);
      const WeightedElements elements = ElementsOfPoints(form, points.subspan(first * axes, count * axes));
      VisitBlock(form, n, first, count,
                 [&](size_t channel, size_t element, size_t p) { visit(channel, element, elements, p); });
    }
  }
}

absl::Status SampleNearest(const GridSampleForm& form, absl::Span<const double> grid, KernelContext& context,
                           Tensor& y) {
  const bool known = VisitStorage(y.dtype(), [&]<typename T>(TypeTag<T>) {
    const auto in = context.Input(0).elements<T>();
    const auto out = y.mutable_elements<T>();
    VisitPoints(form, grid, [&](size_t channel, size_t element, const WeightedElements& elements, size_t p) {
      const size_t at = elements.begin[p];
      const bool is_inside = at != elements.begin[p + 1];
      out[element] = is_inside ? in[channel + static_cast<size_t>(elements.element[at])] : T();
    });
  });
  return known ? absl::OkStatus() : context.TypeError(y.dtype());
}

absl::Status Interpolate(const GridSampleForm& form, absl::Span<const double> grid, const Tensor& x, Tensor& y) {
  AMP_ASSIGN_OR_RETURN(const std::vector<double> in, ReadDoubles(x));
  std::vector<double> out(static_cast<size_t>(y.num_elements()));
  VisitPoints(form, grid, [&](size_t channel, size_t element, const WeightedElements& elements, size_t p) {
    for (size_t k = elements.begin[p]; k < elements.begin[p + 1]; ++k) {
      out[element] += elements.weight[k] * in[channel + static_cast<size_t>(elements.element[k])];
    }
  });
  return WriteDoubles(out, y);
}

absl::Status GridSample(KernelContext& context) {
  const Tensor& x = context.Input(0);
  AMP_ASSIGN_OR_RETURN(const GridSampleForm form, ReadGridSample(context));
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, x.dtype(), form.dims));
  if (y->num_elements() == 0) return absl::OkStatus();
  AMP_ASSIGN_OR_RETURN(const std::vector<double> grid, ReadDoubles(context.Input(1)));
  return form.interpolation == Interpolation::kNearest ? SampleNearest(form, grid, context, *y)
                                                       : Interpolate(form, grid, x, *y);
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
