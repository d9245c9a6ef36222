// DeformConv: a convolution that reads each tap where an offset moved it to, between the elements around that point.
#include <cmath>
#include <utility>
#include <vector>

#include "runtime/forms/convolution.h"
#include "runtime/kernel/shape_math.h"
#include "runtime/reference/accumulator.h"
#include "runtime/reference/convolution.h"
#include "runtime/reference/families.h"
#include "runtime/reference/matrix_product.h"

namespace amp {
namespace {

constexpr size_t kMostAxes = 8;  // a point has 2^axes corners around it

struct Operands {
  Tensor x, w, offset, mask;  // float64; mask without elements where there is none
  Window window;
  size_t groups, offset_groups;
};

// A corner around a point: its place in the image and its weight.
struct Corner {
  size_t place;
  double weight;
};

// The corners that lie within the image.
std::vector<Corner> CornersAround(const std::vector<double>& point, const Window& window) {
  std::vector<Corner> corners = {{0, 1}};
  for (size_t i = 0; i < window.size(); ++i) {
    const auto size = static_cast<double>(window[i].input);
    if (!(point[i] > -1 && point[i] < size)) return {};
    const double low = std::floor(point[i]), fraction = point[i] - low;
    std::vector<Corner> next;
    for (const Corner& corner : corners) {
      const auto add = [&](double coordinate, double weight) {
        if (coordinate < 0 || coordinate >= size || weight == 0) return;
        const size_t place = corner.place * static_cast<size_t>(window[i].input) + static_cast<size_t>(coordinate);
        next.push_back({place, corner.weight * weight});
      };
      add(low, 1 - fraction);
      add(low + 1, fraction);
    }
    corners = std::move(next);
  }
  return corners;
}

// Where the tap reads at a position: [axis] coordinates, which the offsets of this batch and offset group have moved.
std::vector<double> MovedPoint(const Operands& operands, const Dims& position, const Dims& tap, const double* offsets,
                               size_t positions) {
  std::vector<double> point;
  for (size_t i = 0; i < operands.window.size(); ++i) {
    const WindowAxis& axis = operands.window[i];
    const int64_t start = position[i] * axis.stride - axis.pad_begin + tap[i] * axis.dilation;
    point.push_back(static_cast<double>(start) + offsets[i * positions]);
  }
  return point;
}

// Columns [C * taps, positions] of one batch.
void GatherMoved(const Operands& operands, size_t batch, absl::Span<double> columns) {
  const Window& window = operands.window;
  const size_t taps = NumTaps(window), positions = NumPositions(window), axes = window.size();
  const auto channels = static_cast<size_t>(operands.x.dim(1));
  const size_t channels_in_group = channels / operands.offset_groups;
  const size_t image = Doubles(operands.x).size() / static_cast<size_t>(operands.x.dim(0)) / channels;
  const double* const x = Doubles(operands.x).data() + batch * channels * image;
  const Dims outputs(operands.offset.dims().begin() + 2, operands.offset.dims().end());
  const Dims kernel(operands.w.dims().begin() + 2, operands.w.dims().end());
  for (size_t group = 0; group < operands.offset_groups; ++group) {
    size_t tap = (batch * operands.offset_groups + group) * taps;  // among those of all batches and groups
    for (StridedWalk taps_walk(kernel, {}); !taps_walk.AtEnd(); taps_walk.Next(), ++tap) {
      size_t position = 0;
      for (StridedWalk walk(outputs, {}); !walk.AtEnd(); walk.Next(), ++position) {
        const double* const offsets = Doubles(operands.offset).data() + tap * axes * positions + position;
        const auto corners =
            CornersAround(MovedPoint(operands, walk.index(), taps_walk.index(), offsets, positions), window);
        const double factor =
            operands.mask.num_elements() == 0 ? 1 : Doubles(operands.mask)[tap * positions + position];
        for (size_t i = group * channels_in_group; i < (group + 1) * channels_in_group; ++i) {
          double sum = 0;
          for (const Corner& corner : corners) sum += corner.weight * x[i * image + corner.place];
          columns[(i * taps + tap % taps) * positions + position] = factor * sum;
        }
      }
    }
  }
}

absl::Status ConvolveMoved(const Operands& operands, Tensor& y) {
  if (y.num_elements() == 0) return absl::OkStatus();
  const size_t positions = NumPositions(operands.window);
  const auto channels = static_cast<size_t>(operands.x.dim(1));
  const auto filters = static_cast<size_t>(operands.w.dim(0)) / operands.groups;
  const size_t column = channels / operands.groups * NumTaps(operands.window);
  AMP_ASSIGN_OR_RETURN(
      Tensor columns,
      FilledFloat64({static_cast<int64_t>(column * operands.groups), static_cast<int64_t>(positions)}, 0));
  for (size_t batch = 0; batch < static_cast<size_t>(y.dim(0)); ++batch) {
    GatherMoved(operands, batch, columns.mutable_elements<double>());
    for (size_t group = 0; group < operands.groups; ++group) {
      double* const out = y.mutable_elements<double>().data() + (batch * operands.groups + group) * filters * positions;
      AddMatrixProduct<double>({{Doubles(operands.w).data() + group * filters * column, column},
                                {Doubles(columns).data() + group * column * positions, positions},
                                filters,
                                column,
                                positions},
                               {out, positions});
    }
  }
  return absl::OkStatus();
}

// offset or mask: [N, offset groups * taps * `per_tap`, outputs].
absl::Status CheckOffsets(const Operands& operands, const Tensor& offsets, size_t per_tap) {
  const size_t numbers = operands.offset_groups * NumTaps(operands.window) * per_tap;
  const Dims expected = OutputDims(operands.window, operands.x.dim(0), static_cast<int64_t>(numbers));
  if (offsets.dims() == expected) return absl::OkStatus();
  return ModelError("expected offsets and mask of ", DimsText(expected), ", found ", DimsText(offsets.dims()));
}

absl::StatusOr<Operands> ReadOperands(const KernelContext& context) {
  const Node& node = context.node();
  Operands operands;
  AMP_ASSIGN_OR_RETURN(operands.x, ToFloat64(context.Input(0)));
  AMP_ASSIGN_OR_RETURN(operands.w, ToFloat64(context.Input(1)));
  AMP_ASSIGN_OR_RETURN(operands.offset, ToFloat64(context.Input(2)));
  if (context.HasInput(4)) {
    AMP_ASSIGN_OR_RETURN(operands.mask, ToFloat64(context.Input(4)));
  }
  const Tensor& x = operands.x;
  const Tensor& w = operands.w;
  AMP_RETURN_IF_ERROR(CheckConvolution(node, x, w));
  AMP_ASSIGN_OR_RETURN(const int64_t group, ReadGroup(node, x.dim(1)));
  const int64_t offset_groups = GetInt(node, "offset_group", 1);
  if (offset_groups < 1 || x.dim(1) % offset_groups != 0) {
    return ModelError("offset_group: expected a divisor of ", x.dim(1), " channels, found ", offset_groups);
  }
  const bool empty = w.num_elements() == 0 || (x.num_elements() == 0 && x.dim(0) != 0);
  if (w.dim(1) != x.dim(1) / group || w.dim(0) % group != 0 || x.rank() > 2 + kMostAxes || empty) {
    return ModelError("expected X [N, C, ..] and W [M, C / group, ..] with elements and at most ", kMostAxes,
                      " further axes, found ", x.TypeText(), " and ", w.TypeText(), " in ", group, " groups");
  }
  AMP_ASSIGN_OR_RETURN(operands.window, SlideWindow(node, SpatialDims(x), SpatialDims(w)));
  operands.groups = static_cast<size_t>(group);
  operands.offset_groups = static_cast<size_t>(offset_groups);
  AMP_RETURN_IF_ERROR(CheckOffsets(operands, operands.offset, operands.window.size()));
  if (context.HasInput(4)) AMP_RETURN_IF_ERROR(CheckOffsets(operands, operands.mask, 1));
  return operands;
}

absl::Status DeformConv(KernelContext& context) {
  AMP_ASSIGN_OR_RETURN(const Operands operands, ReadOperands(context));
  AMP_ASSIGN_OR_RETURN(Tensor sum, FilledFloat64(OutputDims(operands.window, operands.x.dim(0), operands.w.dim(0)), 0));
  AMP_RETURN_IF_ERROR(ConvolveMoved(operands, sum));
  if (context.HasInput(3)) {
    AMP_ASSIGN_OR_RETURN(const Tensor bias, ToFloat64(context.Input(3)));
    AMP_RETURN_IF_ERROR(AddBias(bias, sum));
  }
  AMP_ASSIGN_OR_RETURN(Tensor y, FromAccumulator(sum, context.Input(0).dtype()));
  context.SetOutput(0, std::move(y));
  return absl::OkStatus();
}

constexpr KernelRow kRows[] = {
    {"DeformConv", DeformConv},
};

}  // namespace

absl::Span<const KernelRow> DeformableConvolutionKernels() { return kRows; }

}  // namespace amp
