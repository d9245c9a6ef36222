// Resize and Upsample of every version.
//
//   what the node says                   one ResampledAxis per axis       (resampling.h)
//   one axis after another               resample_axis.h                  (nearest: moves elements; else float64)
//   tf_crop_and_resize                   extrapolation_value where a position is outside of the input
#include <algorithm>
#include <cmath>

#include "runtime/forms/resampling.h"
#include "runtime/kernel/doubles.h"
#include "runtime/kernel/layout.h"
#include "runtime/kernel/move_elements.h"
#include "runtime/kernel/shape_math.h"
#include "runtime/reference/families.h"

namespace amp {
namespace {

// [outer, in, inner] to [outer, out, inner] by one axis of `dims`, which becomes `out`.
// `make(line, inner, i, out)` makes the `inner` elements of output i from those of the line.
template <typename Make>
std::vector<double> ResampleAxis(const std::vector<double>& x, Dims& dims, size_t at, int64_t out, Make make) {
  const auto outer = static_cast<size_t>(ElementsBetween(dims, 0, at));
  const auto inner = static_cast<size_t>(ElementsBetween(dims, at + 1, dims.size()));
  const auto length = static_cast<size_t>(dims[at]), new_length = static_cast<size_t>(out);
  std::vector<double> y(outer * new_length * inner);
  for (size_t o = 0; o < outer; ++o) {
    for (size_t i = 0; i < new_length; ++i) {
      make(x.data() + o * length * inner, inner, i, y.data() + (o * new_length + i) * inner);
    }
  }
  dims[at] = out;
  return y;
}

absl::Status MoveNearest(const Tensor& x, const Resampling& resampling, Tensor& y) {
  std::vector<std::vector<int64_t>> picks;
  for (const ResampledAxis& axis : resampling.axes) {
    picks.push_back(NearestElements(axis, SourcePositions(axis, resampling.options), resampling.options));
  }
  return CopyPicked(x, picks, /*fill=*/nullptr, y);
}

absl::Status Interpolate(const Tensor& x, const Resampling& resampling, Tensor& y) {
  AMP_ASSIGN_OR_RETURN(std::vector<double> elements, ReadDoubles(x));
  Dims dims = x.dims();
  for (const size_t at : resampling.BestOrder()) {
    const ResampledAxis& axis = resampling.axes[at];
    const std::vector<double> positions = SourcePositions(axis, resampling.options);
    if (IsIdentity(axis, positions)) continue;
    const WeightedElements sum = InterpolationWeights(axis, positions, resampling.options);
    elements = ResampleAxis(elements, dims, at, axis.out, [&](const double* line, size_t inner, size_t i, double* out) {
      for (size_t k = sum.begin[i]; k < sum.begin[i + 1]; ++k) {
        const double* from = line + static_cast<size_t>(sum.element[k]) * inner;
        for (size_t j = 0; j < inner; ++j) out[j] += sum.weight[k] * from[j];
      }
    });
  }
  const bool is_integer = VisitIntegers(x.dtype(), [](auto) {});
  if (is_integer) {
    std::transform(elements.begin(), elements.end(), elements.begin(), [](double e) { return std::nearbyint(e); });
  }
  return WriteDoubles(elements, y);
}

// Per axis and index of the output: whether it comes from outside of the input.
std::vector<std::vector<bool>> FindOutside(const Resampling& resampling) {
  std::vector<std::vector<bool>> outside;
  for (const ResampledAxis& axis : resampling.axes) {
    outside.emplace_back();
    for (const double x : SourcePositions(axis, resampling.options)) {
      outside.back().push_back(!(x >= 0 && x <= static_cast<double>(axis.in - 1)));
    }
  }
  return outside;
}

absl::Status Extrapolate(const Resampling& resampling, Tensor& y) {
  const auto outside = FindOutside(resampling);
  const bool known = VisitNumbersAndBool(y.dtype(), [&]<typename T>(TypeTag<T>) {
    const T value = StoreDouble<T>(resampling.extrapolation_value);
    const auto out = y.mutable_elements<T>();
    for (StridedWalk walk(y.dims(), {RowStrides(y.dims())}); !walk.AtEnd(); walk.Next()) {
      for (size_t i = 0; i < outside.size(); ++i) {
        if (outside[i][static_cast<size_t>(walk.index()[i])]) out[walk[0]] = value;
      }
    }
  });
  return known ? absl::OkStatus() : ModelError("no extrapolation for ", DTypeName(y.dtype()));
}

// In either layout: the axes are resampled in the order in which they lie in memory.
template <absl::StatusOr<Resampling> (*kRead)(const KernelContext&)>
absl::Status Resize(KernelContext& context) {
  AMP_ASSIGN_OR_RETURN(const Resampling stated, kRead(context));
  const Tensor x = AsInMemory(context.Input(0));
  const Layout layout = context.Input(0).layout();
  AMP_ASSIGN_OR_RETURN(Tensor * output, context.MakeOutput(0, x.dtype(), stated.OutputDims()));
  output->set_layout(layout);
  if (output->num_elements() == 0) return absl::OkStatus();
  Tensor y = AsInMemory(*output);
  const Resampling resampling = stated.InMemory(layout);
  const bool is_nearest = resampling.options.interpolation == Interpolation::kNearest;
  AMP_RETURN_IF_ERROR(is_nearest ? MoveNearest(x, resampling, y) : Interpolate(x, resampling, y));
  if (resampling.options.coordinates != Coordinates::kTfCropAndResize) return absl::OkStatus();
  return Extrapolate(resampling, y);
}

// Types that have no weighted sums.
constexpr TypeSet kNoNumbers = {DType::kString, DType::kBool, DType::kComplex64, DType::kComplex128};

constexpr KernelRow kRows[] = {
    Refusing(kNoNumbers, {0}, {.op_type = "Resize", .function = Resize<ReadResize>, .takes_channels_last = true}),
    Refusing(kNoNumbers, {0}, {.op_type = "Upsample", .function = Resize<ReadUpsample>, .takes_channels_last = true}),
};

}  // namespace

absl::Span<const KernelRow> ResizeKernels() { return kRows; }

}  // namespace amp
